package actors

import (
	"context"
	"errors"
	"slices"

	"agenthost/sessions"
)

type (
	// turnWaits: a run has begun to wait for clients.
	turnWaits struct{ run *run }
	// waitFound is what the store knows of a turn of the session that waits.
	waitFound struct {
		resume *resume // nil when none does
		err    error
	}
)

// receiveOfClients handles one message about a turn that waits for clients.
func (a *agent) receiveOfClients(msg any) {
	switch msg := msg.(type) {
	case *turnWaits:
		a.handleTurnWaits(msg)
	case *waitFound:
		a.handleWaitFound(msg)
	case *answeredCalls:
		a.handleAnsweredCalls(msg)
	}
}

// errLeftWaiting is the cause of the end of a run whose turn goes on waiting in the
// store.
var errLeftWaiting = errors.New("the turn waits for clients; whoever comes for it takes it up")

// findWait asks the store for a turn that waits, before anything else is handled.
func (a *agent) findWait() {
	a.busy = true
	d, self, ident, at := a.deps, a.self, a.ident, a.address()
	d.background(func(ctx context.Context) {
		found, err := d.waitOf(ctx, ident, at)
		d.send(self, &waitFound{found, err})
	})
}

// waitOf returns a session's turn that waits, and those that are queued behind it;
// nil if none does.
func (d *deps) waitOf(ctx context.Context, ident identity, at sessions.Address) (*resume, error) {
	s, err := d.store.Session(ctx, ident.owner, at)
	switch {
	case sessions.CodeOf(err) == sessions.CodeSessionNotFound:
		return nil, nil // what was asked of the session is told so
	case err != nil:
		return nil, err
	case ident.life != 0 && s.Fence.Incarnation != ident.life:
		return nil, sessions.ErrFenced
	case s.ActiveTurn == nil || s.ActiveTurn.Status != sessions.TurnIsWaiting:
		return nil, nil
	}
	turn, err := d.store.Turn(ctx, s.Fence.Incarnation, s.ActiveTurn.TurnID)
	if err != nil {
		return nil, err
	}
	found := &resume{session: s, active: &turn}
	if s.Queued == 0 {
		return found, nil
	}
	busy, err := d.store.BusyTurns(ctx)
	for _, other := range bySession(busy) {
		if other.session.Fence.Incarnation == s.Fence.Incarnation {
			found.queued, found.interrupts = other.queued, other.interrupts
		}
	}
	return found, err
}

// handleWaitFound takes up the turn that waits. Without an answer of the store
// nothing can be done for anyone; the next request tries again.
func (a *agent) handleWaitFound(msg *waitFound) {
	a.busy = false
	switch {
	case errors.Is(msg.err, sessions.ErrFenced):
		a.defunct = true // what has come is for the session's next life
		a.proposeIdle()
	case msg.err != nil:
		a.defunct = true
		a.held = slices.DeleteFunc(a.held, func(held any) bool {
			req, ok := held.(request)
			if ok {
				req.refuse(a.partingError(msg.err))
			}
			return ok
		})
		a.proposeIdle()
	case msg.resume != nil:
		a.bind(msg.resume.session)
		a.handleResume(msg.resume)
	}
}

// handleTurnWaits tells those who asked to hear of it that the turn waits. A host
// that stops has no reason to stay for it.
func (a *agent) handleTurnWaits(msg *turnWaits) {
	switch {
	case a.run != msg.run:
	case a.draining && a.run.parked():
		a.tellWhoWaits()
		a.cutForStop()
	default:
		a.tellWhoWaits()
	}
}

// tellWhoWaits answers those who wait for the turn to wait, if it does. The others
// make room at the edge, as they may wait for long, also those whose turns are queued
// behind it; and who has gone is forgotten.
func (a *agent) tellWhoWaits() {
	if a.run == nil {
		return
	}
	turn, open, ok := a.run.waitsFor()
	if !ok {
		return
	}
	reply := PromptReply{SessionID: a.ident.id, Turn: turn, Pending: open}
	tell := func(c caller) (leaves bool) {
		c.prompt.leaveEdge()
		if c.prompt.UntilWaiting {
			c.prompt.reply(replyTo(reply, c.duplicate))
		}
		return c.prompt.UntilWaiting || c.prompt.isGone()
	}
	a.callers = slices.DeleteFunc(a.callers, tell)
	for _, w := range a.waiting {
		w.callers = slices.DeleteFunc(w.callers, func(c caller) bool {
			if w.steers && c.prompt.UntilWaiting {
				return tell(a.follow(c, turn.TurnID, turn.LastFrame, true))
			}
			c.prompt.leaveEdge()
			return c.prompt.isGone()
		})
	}
}

// parked reports whether the agent is in memory only for callers of a turn that
// waits for clients.
func (a *agent) parked() bool {
	return a.run != nil && a.ending == nil && !a.defunct && len(a.cancels) == 0 &&
		a.run.turn.Limits.WaitTimeoutMs == 0 && a.run.parked()
}

// queued counts the prompts whose turns wait for their start.
func (a *agent) queued() (n int) {
	for _, w := range a.waiting {
		if !w.steers {
			n++
		}
	}
	return n
}

// attended reports whether somebody waits for the end of the turn.
func (a *agent) attended() bool {
	waits := func(c caller) bool { return !c.prompt.isGone() }
	return slices.ContainsFunc(a.callers, waits) || slices.ContainsFunc(a.waiting, func(w *waitingPrompt) bool {
		return w.leaving || slices.ContainsFunc(w.callers, waits)
	})
}

// leaveWaiting leaves a turn that waits to the store, as the agent stops.
func (a *agent) leaveWaiting() {
	if a.parked() {
		a.run.drop(errLeftWaiting, nil)
	}
}
