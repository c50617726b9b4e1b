package actors

import (
	"context"

	"agenthost/sessions"
)

// asides are the side questions of one agent.
type asides struct {
	current *side // whose caller waits, nil when there is none
	going   int   // those whose goroutines are not gone yet
}

// end answers the caller of the current side question with why, ends its model
// call, and reports whether there was one.
func (a *asides) end(why *sessions.Error) bool {
	s := a.current
	if s == nil {
		return false
	}
	a.current = nil
	if s.stop != nil {
		s.stop(why)
	}
	s.question.refuse(why)
	return true
}

// leave takes note that the goroutine of s is gone, and answers its caller unless
// that was done before.
func (a *asides) leave(s *side, with SideAnswer) {
	a.going--
	if a.current == s {
		a.current = nil
		answer(s.question.Reply, with)
	}
}

// handleSideQuestion ends the side question before, and asks this one: of what the
// turn under way has in memory, or else of what the store has.
func (a *agent) handleSideQuestion(q *SideQuestion) {
	if !a.known {
		q.refuse(sessions.UnknownProfile(a.ident.profile))
		return
	}
	if err := sessions.CheckQuestion("/args/question", q.Question, a.deps.limits); err != nil {
		q.refuse(sessions.AsError(err))
		return
	}
	a.asides.end(errSideReplaced())
	s := &side{deps: a.deps, agent: a.self, ident: a.ident, profile: a.profile, scope: a.scope, question: q}
	a.asides.current = s
	a.asides.going++
	if a.run != nil && s.takeFrom(a.run) {
		s.start(a.life())
		return
	}
	a.busy = true // so that what ends the session meanwhile comes after its agent knows it
	d, self, owner, at := a.deps, a.self, a.ident.owner, a.address()
	d.background(func(ctx context.Context) {
		session, err := d.store.Session(ctx, owner, at)
		d.send(self, &sideFound{s, session, err})
	})
}

// handleSideFound asks the side question, if the session can be asked.
func (a *agent) handleSideFound(msg *sideFound) {
	a.busy = false
	if err := a.sideRefusal(msg); err != nil || a.asides.current != msg.side {
		a.asides.leave(msg.side, SideAnswer{Err: err})
		return
	}
	if a.life() == 0 {
		a.bind(msg.session)
		a.deps.send(a.deps.root, &bound{a.self, a.ident.life, a.ident.id})
	}
	switch {
	case a.run != nil:
		msg.side.takeFrom(a.run)
	case int64(len(a.history)) == msg.session.MessageCount:
		msg.side.history, msg.side.summary = a.history, a.summary
	}
	msg.side.start(a.life())
}

// sideRefusal returns why the session cannot be asked, nil if it can.
func (a *agent) sideRefusal(msg *sideFound) *sessions.Error {
	last := msg.session.LastError
	switch {
	case msg.err != nil:
		return a.partingError(msg.err)
	case msg.session.Status == sessions.StatusClosed:
		return sessions.ErrSessionClosed
	case last != nil && last.Code == sessions.CodeSessionDamaged:
		return last.Err()
	case msg.session.MessageCount == 0:
		return errNoConversation()
	default:
		return nil
	}
}
