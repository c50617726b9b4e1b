package actors

import (
	"context"
	"errors"

	"agenthost/sessions"
)

// withdraw asks the store for the end of a prompt that waits.
func (a *agent) withdraw(msg *withdrawn) {
	msg.fence = a.activation()
	cmd := sessions.WithdrawTurn{
		Fence: msg.fence, RequestID: msg.request, Failure: msg.failure.Info(),
		ClaimTTLMs: a.deps.dedupTTL.Milliseconds(), Now: a.deps.nowMs(),
	}
	r, d, self := a.run, a.deps, a.self
	a.busy = true
	if w := a.findWaiting(msg.request); w != nil {
		w.leaving = true
	}
	d.background(func(ctx context.Context) {
		msg.done, msg.found, msg.err = d.store.WithdrawTurn(ctx, cmd)
		r.settleFence(msg.err)
		d.send(self, msg)
	})
}

// handleWithdrawn answers those whose prompt was withdrawn, and who withdrew it.
func (a *agent) handleWithdrawn(msg *withdrawn) {
	a.busy = false
	w := a.findWaiting(msg.request)
	if w != nil {
		w.leaving = false
	}
	switch {
	case errors.Is(msg.err, sessions.ErrFenced) && msg.fence != a.activation():
		a.withdraw(msg) // its own run has raised the epoch since
		return
	case msg.err == nil && msg.found:
		a.endWithdrawn(msg)
	case msg.failure != nil && mayPass(msg.err):
		a.pauseStarts()
	case msg.failure != nil: // it cannot start and cannot be ended; the next start tries again
		if w := a.takeWaiting(msg.request); w != nil {
			w.refuse(msg.failure)
			a.letOut(w)
		}
	case w != nil && w.steers && (a.run == nil || a.run.turn.TurnID != w.turn.TurnID):
		a.endLateText(w)
	}
	switch {
	case msg.cancel == nil:
	case msg.err != nil:
		msg.cancel.refuse(a.partingError(msg.err))
	default:
		answer(msg.cancel.Reply, CancelReply{Cancelled: msg.found})
	}
}

// endLateText answers those whose text was not withdrawn, as far as the store has
// said, and whose turn has ended meanwhile without making a turn of it: a cancel
// has ended the text with the turn; with any other end it was withdrawn after all.
func (a *agent) endLateText(w *waitingPrompt) {
	a.takeWaiting(w.request)
	for _, c := range w.callers {
		switch end := a.last; {
		case end == nil || end.run.turn.TurnID != w.turn.TurnID:
			c.prompt.refuse(errFault().With("turnId", w.turn.TurnID))
		case end.reply.Turn.Status == sessions.TurnIsCancelled:
			a.endText(c, end)
		default:
			c.prompt.refuse(errCancelled(w.turn.TurnID))
		}
	}
}

func (a *agent) endWithdrawn(msg *withdrawn) {
	turn := msg.done.Turn
	why := errCancelled(turn.TurnID)
	if msg.failure != nil {
		why = msg.failure.With("turnId", turn.TurnID)
	}
	w := a.takeWaiting(msg.request)
	if w == nil { // text that came to the last host
		w = &waitingPrompt{steers: true}
	}
	a.letOut(w)
	for i, c := range w.callers {
		w.callers[i] = a.follow(c, turn.TurnID, turn.LastFrame, false)
	}
	a.deps.feed.Publish(a.life(), msg.done.Frames...)
	a.tellChanged(sessions.SessionUpdated, msg.done.Session, turn.EndedAt)
	for _, c := range w.callers {
		c.prompt.reply(replyTo(PromptReply{SessionID: a.ident.id, Turn: turn, Err: why}, c.duplicate))
	}
}

// closeWaiting answers those whose queued turns a close has ended, once frames,
// the close's, are published.
func (a *agent) closeWaiting(done sessions.ClosedSession) {
	ends := map[sessions.RequestID]sessions.Frame{}
	for _, f := range done.Frames {
		if f.TurnID != "" {
			ends[f.RequestID] = f
		}
	}
	for _, w := range a.waiting {
		if f := ends[w.request]; f.Seq > 0 {
			for _, c := range w.callers {
				a.follow(c, f.TurnID, f.Seq, false)
			}
		}
	}
	a.deps.feed.Publish(a.life(), done.Frames...)
	for _, w := range a.waiting {
		f := ends[w.request]
		turn := w.turn
		turn.Status, turn.Error, turn.EndedAt = sessions.TurnIsFailed, errClosed().Info(), f.At
		turn.FirstFrame, turn.LastFrame = f.Seq, f.Seq
		for _, c := range w.callers {
			c.prompt.reply(replyTo(PromptReply{SessionID: a.ident.id, Turn: turn, Err: errClosed().With("turnId", turn.TurnID)}, c.duplicate))
		}
		a.letOut(w)
	}
	a.waiting = nil
}
