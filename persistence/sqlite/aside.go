package sqlite

import (
	"database/sql"

	"agenthost/sessions"
)

// keepAside stores a prompt to a busy session: as a queued turn, or as text that
// waits for the active one. It enters the history later.
func (a *acceptance) keepAside(t *tx, session *sessionRow) (sessions.AcceptedTurn, error) {
	c := a.c
	prompt := pendingRow{body: a.body, claimTTLMs: c.Request.TTLMs, steers: c.Busy == sessions.BusySteer,
		turn: sessions.Turn{TurnID: c.TurnID, RequestID: c.Request.ID, Status: sessions.TurnIsQueued, CreatedAt: c.Now,
			Limits: c.Limits, Inference: c.Inference}}
	if prompt.steers && session.ActiveTurn != nil {
		return a.steer(t, session, prompt)
	}
	if err := a.findPlace(t, session, &prompt); err != nil {
		return sessions.AcceptedTurn{}, err
	}
	session.Queued++
	if err := a.saveAside(t, session, prompt, c.TurnID); err != nil {
		return sessions.AcceptedTurn{}, err
	}
	if _, err := insertTurn(t, session.Fence.Incarnation, prompt.turn); err != nil {
		return sessions.AcceptedTurn{}, err
	}
	t.keepBeside(session)
	return sessions.AcceptedTurn{Session: session.Session, Turn: prompt.turn}, nil
}

// findPlace puts a prompt behind those that are queued, or before them. A text
// that finds no turn to steer is next, but not before one that found none either.
func (a *acceptance) findPlace(t *tx, session *sessionRow, prompt *pendingRow) error {
	switch {
	case session.Queued >= int64(a.c.QueueLimit):
		return errFullQueue(a.c.QueueLimit)
	case !a.c.Admitted:
		return sessions.ErrNotAdmitted
	case a.c.Busy == sessions.BusyQueue:
		return nil
	}
	first, err := firstQueued(t, session.Fence.Incarnation)
	if err != nil {
		return err
	}
	prompt.place = front(first)
	if prompt.steers && first != nil && first.steers {
		prompt.place = first.place
	}
	return nil
}

func errFullQueue(limit int) error {
	return sessions.Errorf(sessions.CodeAgentBusy,
		"As many prompts wait for the session as may, which is %d; try again when one has ended.", limit)
}

// steer has a text wait for the active turn.
func (a *acceptance) steer(t *tx, session *sessionRow, prompt pendingRow) (sessions.AcceptedTurn, error) {
	var none sessions.AcceptedTurn
	life := session.Fence.Incarnation
	_, active, known := t.recent.active(life, session.ActiveTurn.TurnID)
	if !known {
		var err error
		if active, err = findTurn(always, t, session.ActiveTurn.TurnID); err != nil {
			return none, err
		}
	}
	if active.steered > 0 {
		n, err := waiting(always, t, life, active.num)
		if err != nil {
			return none, err
		}
		if n >= a.c.QueueLimit {
			return none, errFullQueue(a.c.QueueLimit)
		}
	} else if a.c.QueueLimit < 1 {
		return none, errFullQueue(a.c.QueueLimit)
	}
	prompt.waitsFor = active.num
	active.steered++
	if err := a.saveAside(t, session, prompt, active.TurnID); err != nil {
		return none, err
	}
	if _, err := t.exec("UPDATE turns SET steered = ? WHERE num = ?", active.steered, active.num); err != nil {
		return none, err
	}
	t.keep(session, active)
	return sessions.AcceptedTurn{Session: session.Session, Turn: active.Turn, Steers: true}, nil
}

// saveAside stores the prompt, what it changes of the session, and a claim that
// names the turn which answers it.
func (a *acceptance) saveAside(t *tx, session *sessionRow, prompt pendingRow, answeredBy sessions.TurnID) error {
	from := session.Fence
	session.LastActiveAt = t.activeAt(a.c.Now)
	if session.Preview == "" {
		session.Preview = sessions.Preview(a.c.Content)
	}
	if a.c.Fence == (sessions.Fence{}) {
		session.Fence.Epoch++
	}
	if err := saveSession(t, from, session.Session); err != nil {
		return err
	}
	if err := insertPending(t, from.Incarnation, prompt); err != nil {
		return err
	}
	claim := claimRow{Claim: sessions.Claim{Life: from.Incarnation, TurnID: answeredBy}}
	return insertClaim(t, a.c.Owner, a.c.Request, claim, sql.Null[sessions.Time]{})
}
