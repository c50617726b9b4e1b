package actors

import (
	"context"
	"errors"
	"time"

	"agenthost/sessions"
)

// startNext asks the store to start the first queued turn when there is one and
// nothing is in its way.
func (a *agent) startNext() {
	if a.run != nil || a.busy || a.pausing || a.ending != nil || a.defunct || len(a.waiting) == 0 {
		return
	}
	d, self, throttled := a.deps, a.self, a.recovering
	cmd := sessions.StartTurn{Fence: a.fence, Now: d.nowMs()}
	a.busy, a.recovering = true, false
	d.background(func(ctx context.Context) {
		if throttled {
			select {
			case d.recovery <- struct{}{}:
				defer func() { <-d.recovery }()
			case <-ctx.Done():
				return
			}
		}
		turn, found, err := d.store.StartTurn(ctx, cmd)
		d.send(self, &startedNext{turn, found, err})
	})
}

// handleStarted runs the turn that the store has started.
func (a *agent) handleStarted(msg *startedNext) {
	a.busy = false
	switch {
	case msg.err != nil && mayPass(msg.err):
		a.pauseStarts()
		return
	case errors.Is(msg.err, sessions.ErrFenced):
		a.defunct = true
		a.dropWaiting(errDeleted())
		a.proposeIdle()
	case msg.err != nil:
		a.failFirst(sessions.AsError(msg.err))
	case msg.found:
		a.beginQueued(msg.turn)
	default: // a turn is active that this agent does not run, which is a fault
		a.dropWaiting(errFault())
	}
	a.pause = 0
}

// beginQueued makes a turn that the store has started the agent's own.
func (a *agent) beginQueued(started sessions.AcceptedTurn) {
	w := a.addQueued(started.Turn)
	a.adopt(started, w.fingerprint, w.trace, w.callers)
	a.takeWaiting(w.request)
	a.going++
	a.run.start()
}

// pauseStarts waits until the store may be back.
func (a *agent) pauseStarts() {
	a.pausing = true
	a.pause = min(max(2*a.pause, firstRetry), lastRetry)
	d, self, wait := a.deps, a.self, a.pause
	d.background(func(ctx context.Context) {
		select {
		case <-time.After(wait):
			d.send(self, &startAgain{})
		case <-ctx.Done():
		}
	})
}

// failFirst ends the first queued turn as one that cannot start. The next one is
// asked for then.
func (a *agent) failFirst(why *sessions.Error) {
	for _, w := range a.waiting {
		if !w.steers {
			a.withdraw(&withdrawn{request: w.request, failure: why})
			return
		}
	}
}
