package memory

import (
	"slices"

	"agenthost/sessions"
)

// waitedCall is a call that waits for a client, or had an answer of one.
type waitedCall struct {
	turn     sessions.TurnID
	call     sessions.Pending // when it waits no more, its id and kind only
	waits    bool             // its turn does
	answered bool
	digest   [32]byte             // of the answer
	answer   *sessions.CallAnswer // nil when there is none, or it waits no more
}

// mayWait refuses a step that does not fit to whether the turn waits.
func (r *record) mayWait(c sessions.CommitTurn, t *turn) error {
	if err := c.MayFollow(t.Status); err != nil {
		return err
	}
	for _, call := range c.Wait {
		if slices.ContainsFunc(r.waited, func(w *waitedCall) bool { return w.call.CallID == call.CallID && w.call.Kind == call.Kind }) {
			return sessions.ErrCallWaited
		}
	}
	return nil
}

// after returns the status of the session after a step.
func (r *record) after(c sessions.CommitTurn, t *turn) (sessions.Status, error) {
	status := r.session.Status
	var err error
	switch {
	case c.End != nil:
		return c.End.After(t.Status, status)
	case len(c.Wait) > 0:
		status, err = sessions.Next(status, sessions.TurnWaited)
	case c.GoOn:
		status, err = sessions.Next(status, sessions.TurnResumed)
	}
	if err != nil {
		return "", sessions.Errorf(sessions.CodeInternal, "The session cannot follow its turn's wait.").Because(err)
	}
	return status, nil
}

// moveWait takes the turn out of its wait, or into one, if the step does.
func (r *record) moveWait(c sessions.CommitTurn, t *turn, next sessions.Status) {
	if t.Status == sessions.TurnIsWaiting && c.EndsWait() {
		t.WaitedMs += max(int64(c.Now-t.WaitingSince), 0)
		t.WaitingSince = 0
		r.endWaited()
	}
	switch {
	case c.GoOn:
		t.Status, t.ResumedAt = sessions.TurnIsRunning, c.Now
	case len(c.Wait) > 0:
		t.Status, t.WaitingSince = sessions.TurnIsWaiting, c.Now
		for _, call := range c.Wait {
			r.waited = append(r.waited, &waitedCall{turn: t.TurnID, call: copyPending(call), waits: true})
		}
		r.session.Pending = copyAll(c.Wait, copyPending)
	default:
		return
	}
	r.session.Status, r.session.ActiveTurn.Status = next, t.Status
}

// endWaited forgets what the session waits for, but by what its answers are told
// apart.
func (r *record) endWaited() {
	r.session.Pending = nil
	r.waited = slices.DeleteFunc(r.waited, func(w *waitedCall) bool { return w.waits && !w.answered })
	for _, w := range r.waited {
		w.waits, w.answer = false, nil
		w.call = sessions.Pending{CallID: w.call.CallID, Kind: w.call.Kind}
	}
}
