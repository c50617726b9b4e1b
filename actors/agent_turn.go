package actors

import (
	"context"

	"agenthost/sessions"
)

// handleTurnEnded answers everyone who waits for the turn.
func (a *agent) handleTurnEnded(msg *turnEnded) {
	if a.run != msg.run {
		return // closed meanwhile; its callers have their answer
	}
	a.history, a.summary, a.fence = msg.run.left()
	a.run.givePlace() // first, so that who is answered finds room for more
	cancelled := msg.reply.Turn.Status == sessions.TurnIsCancelled
	for _, c := range a.callers {
		c.prompt.reply(replyTo(msg.reply, c.duplicate))
	}
	for _, c := range a.cancels {
		answer(c.Reply, CancelReply{Cancelled: cancelled})
	}
	a.callers, a.cancels, a.run, a.last = nil, nil, nil, nil
	if a.busy {
		a.last = msg // the store may have been asked about the turn before its end
	}
	switch {
	case a.ending != nil: // nothing waits any more
	case a.defunct && len(msg.queued) > 0:
		a.leaveBehind()
	case !a.defunct:
		a.settleTexts(msg)
	}
	if a.draining {
		a.draining = false
		a.finishAll(errStopping())
	}
}

func replyTo(r PromptReply, duplicate bool) PromptReply {
	if duplicate {
		r.Duplicate = true
		if r.Err != nil {
			r.Err = r.Err.With("duplicate", true)
		}
	}
	return r
}

// handleUnstored tells those who wait that the store cannot take the turn's step
// or end now. The turn stays the active one; the same request id joins it and
// waits for the end.
func (a *agent) handleUnstored(msg *unstored) {
	switch {
	case a.run != msg.run:
	case a.ending != nil: // closed while the end was under way: nobody needs it now
		a.abandonRun(a.ending)
	default:
		msg.run.stalled = true
		a.refuseCallers(msg.err)
	}
}

// handleCancel cancels the active turn, if it is the one meant, or withdraws a
// prompt that waits. The caller is
// answered when the end is stored: its own cancellation, or a completion that
// came first.
func (a *agent) handleCancel(c *Cancel) {
	if a.life() == 0 {
		a.cancelUnknown(c)
		return
	}
	if c.SideQuestion {
		answer(c.Reply, CancelReply{Cancelled: a.asides.end(errSideCancelled())})
		return
	}
	active := a.run != nil && (c.RequestID == "" || c.RequestID == a.run.turn.RequestID)
	switch {
	case !active && a.mayWait(c.RequestID):
		a.withdraw(&withdrawn{request: c.RequestID, cancel: c})
	case !active:
		answer(c.Reply, CancelReply{})
	default:
		a.cancels = append(a.cancels, c)
		if len(a.cancels) == 1 {
			a.cutRun(cutCancelled)
		}
	}
}

// mayWait reports whether a request may be one that waits: of text that came to
// the last host only the store knows.
func (a *agent) mayWait(id sessions.RequestID) bool {
	return a.findWaiting(id) != nil || id != "" && a.run != nil && a.run.fingerprint == nil
}

// cutRun ends the active turn.
func (a *agent) cutRun(how cutting) {
	r := a.run
	a.deps.background(func(ctx context.Context) { r.cut(ctx, how) })
}

// cancelUnknown answers a cancel for a key whose session the agent has not met:
// there may be one, made without a prompt, and then it has no turn.
func (a *agent) cancelUnknown(c *Cancel) {
	d, owner, at := a.deps, a.ident.owner, a.ident.at
	d.background(func(ctx context.Context) {
		means, err := d.store.Resolve(ctx, owner, at)
		switch {
		case err != nil:
			c.refuse(sessions.AsError(err))
		case means.Life == 0:
			c.refuse(sessions.ErrNoSession)
		default:
			answer(c.Reply, CancelReply{})
		}
	})
}
