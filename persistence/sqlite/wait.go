package sqlite

import (
	"slices"

	"agenthost/sessions"
)

// prepareWait copies and seals the calls that the turn is to wait for.
func (p *commitment) prepareWait() error {
	p.c.Wait = clonePending(p.c.Wait)
	for _, call := range p.c.Wait {
		sealedBody, err := encodeWaited(call)
		if err != nil {
			return err
		}
		p.waits = append(p.waits, sealedBody)
	}
	return nil
}

// mayFollow refuses a step that does not fit to whether the turn waits.
func (p *commitment) mayFollow(t *tx, turn turnRow) error {
	if err := p.c.MayFollow(turn.Status); err != nil {
		return err
	}
	for _, call := range p.c.Wait {
		known, err := findWaited(t, p.c.Fence.Incarnation, call.CallID)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(known, func(w waitedRow) bool { return w.kind == call.Kind }) {
			return sessions.ErrCallWaited
		}
	}
	return nil
}

// wait lets the turn wait for clients.
func (p *commitment) wait(t *tx, session *sessionRow, turn *turnRow) error {
	if err := p.become(session, turn, sessions.TurnIsWaiting, sessions.TurnWaited); err != nil {
		return err
	}
	turn.WaitingSince = p.c.Now
	session.Pending = clonePending(p.c.Wait)
	for i, call := range p.c.Wait {
		if err := insertWaited(t, *turn, i, call, p.waits[i]); err != nil {
			return err
		}
	}
	return saveSession(t, session.Fence, session.Session)
}

// goOn lets a turn that waits run again.
func (p *commitment) goOn(t *tx, session *sessionRow, turn *turnRow) error {
	if err := p.become(session, turn, sessions.TurnIsRunning, sessions.TurnResumed); err != nil {
		return err
	}
	turn.ResumedAt = p.c.Now
	return saveSession(t, session.Fence, session.Session)
}

// become gives turn and session the states of a wait's begin or end.
func (p *commitment) become(session *sessionRow, turn *turnRow, status sessions.TurnStatus, on sessions.Trigger) error {
	next, err := sessions.Next(session.Status, on)
	if err != nil {
		return sessions.Errorf(sessions.CodeInternal, "The session cannot follow its turn's wait.").Because(err)
	}
	turn.Status, session.Status, session.ActiveTurn.Status = status, next, status
	return nil
}

// leaveWait forgets what the turn has waited for, if it waits no more.
func (p *commitment) leaveWait(t *tx, session *sessionRow, turn *turnRow) error {
	if turn.Status != sessions.TurnIsWaiting || !p.c.EndsWait() {
		return nil
	}
	turn.WaitedMs += max(int64(p.c.Now-turn.WaitingSince), 0)
	turn.WaitingSince = 0
	session.Pending = []sessions.Pending{}
	return endWaited(t, turn.life)
}
