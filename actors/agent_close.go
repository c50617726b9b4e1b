package actors

import (
	"context"

	"agenthost/actors/feed"
	"agenthost/sessions"
)

// handleCloseSession cancels the turn, if there is one, and closes the session.
// What comes meanwhile waits, so nothing starts between the two.
func (a *agent) handleCloseSession(msg *Close) {
	r, d, self := a.run, a.deps, a.self
	cmd := sessions.CloseSession{Owner: a.ident.owner, At: a.address(), Reason: msg.Reason, Now: d.nowMs()}
	a.busy, a.parting = true, msg
	d.background(func(ctx context.Context) {
		if r != nil {
			r.cut(ctx, cutCancelled)
		}
		done, err := d.store.CloseSession(ctx, cmd)
		d.send(self, &closedSession{msg, done, err})
	})
}

// handleClosed answers a close, and ends the session's subscriptions behind its
// last frame.
func (a *agent) handleClosed(msg *closedSession) {
	waits := a.endParting()
	if msg.err != nil {
		if waits {
			msg.request.refuse(a.partingError(msg.err))
		}
		return
	}
	s := msg.done.Session
	a.fence = s.Fence
	a.beside.stop(errClosed())
	a.asides.end(errClosed())
	if len(msg.done.Frames) > 0 { // it was not closed before
		a.closeWaiting(msg.done)
		a.deps.feed.End(s.Fence.Incarnation, feed.Closed)
		a.deps.feed.Tell(s.Owner, s.ClosedAt, sessions.SessionChanged{
			Change: sessions.SessionUpdated, SessionID: s.ID, Status: s.Status,
		})
	}
	if waits {
		answer(msg.request.Reply, SessionReply{Session: s})
	}
}

// endParting ends the Close or Detach under way, and reports whether its caller
// still waits for an answer.
func (a *agent) endParting() (waits bool) {
	waits = a.parting != nil
	a.busy, a.parting = false, nil
	return waits
}

// handleDetach ends the turn, if there is one, so that the session takes prompts
// at once.
func (a *agent) handleDetach(msg *Detach) {
	a.busy, a.parting = true, msg
	r, d, self := a.run, a.deps, a.self
	owner, at := a.ident.owner, a.address()
	d.background(func(ctx context.Context) {
		if r != nil {
			r.cut(ctx, cutDetached)
		}
		s, err := d.store.Session(ctx, owner, at)
		d.send(self, &detachedSession{msg, s, err})
	})
}

// handleDetached answers a detach.
func (a *agent) handleDetached(msg *detachedSession) {
	switch waits := a.endParting(); {
	case !waits:
	case msg.err != nil:
		msg.request.refuse(a.partingError(msg.err))
	default:
		answer(msg.request.Reply, SessionReply{Session: msg.session})
	}
}

// partingError is the answer to a Close or Detach that the store did not carry
// out. A session that the agent knew and the store does not was deleted meanwhile.
func (a *agent) partingError(err error) *sessions.Error {
	if sessions.CodeOf(err) == sessions.CodeSessionNotFound && a.life() != 0 {
		return errDeleted()
	}
	return sessions.AsError(err)
}
