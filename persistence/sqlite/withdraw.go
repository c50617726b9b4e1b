package sqlite

import (
	"context"

	"agenthost/sessions"
)

// WithdrawTurn ends a queued turn; see the port.
func (s *Store) WithdrawTurn(ctx context.Context, c sessions.WithdrawTurn) (sessions.WithdrawnTurn, bool, error) {
	if c.Failure != nil {
		c.Failure = new(*c.Failure)
	}
	withdrawn, err := do(ctx, s.writer, func(t *tx) (*sessions.WithdrawnTurn, error) { return withdraw(t, c) })
	if err != nil || withdrawn == nil {
		return sessions.WithdrawnTurn{}, false, err
	}
	return *withdrawn, true, nil
}

// withdraw returns nil when the request has nothing that waits.
func withdraw(t *tx, c sessions.WithdrawTurn) (*sessions.WithdrawnTurn, error) {
	session, err := fencedSession(t, c.Fence)
	if err != nil {
		return nil, err
	}
	prompt, err := findPending(t, c.Fence.Incarnation, c.RequestID)
	if err != nil || prompt == nil {
		return nil, err
	}
	end := sessions.TurnEnd{Status: sessions.TurnIsCancelled, ClaimTTLMs: c.ClaimTTLMs}
	if c.Failure != nil {
		end.Status, end.Error = sessions.TurnIsFailed, c.Failure
	}
	turn, frame, err := endPending(t, session, *prompt, end, c.Now)
	if err != nil {
		return nil, err
	}
	if err := saveSession(t, session.Fence, session.Session); err != nil {
		return nil, err
	}
	t.keepBeside(session)
	return &sessions.WithdrawnTurn{Session: session.Session, Turn: turn.Turn, Frames: []sessions.Frame{frame}}, nil
}

// endPending ends a prompt that has not entered the history, with a turn that
// never started and has its terminal frame only. What it changes of the session
// is left to the caller to store.
func endPending(t *tx, session *sessionRow, prompt pendingRow, end sessions.TurnEnd, now sessions.Time) (turnRow, sessions.Frame, error) {
	life := session.Fence.Incarnation
	turn, err := turnOf(t, life, prompt)
	if err != nil {
		return turn, sessions.Frame{}, err
	}
	if prompt.waitsFor == 0 {
		session.Queued--
	}
	session.LastFrame++
	turn.Status, turn.Error, turn.EndedAt = end.Status, end.Error, now
	turn.FirstFrame, turn.LastFrame = session.LastFrame, session.LastFrame
	if _, err := t.exec("UPDATE turns SET first_frame = ? WHERE num = ?", turn.FirstFrame, turn.num); err != nil {
		return turn, sessions.Frame{}, err
	}
	if err := saveTurn(t, turn); err != nil {
		return turn, sessions.Frame{}, err
	}
	if err := removePending(t, prompt); err != nil {
		return turn, sessions.Frame{}, err
	}
	if _, err := t.exec("UPDATE dedupe_claims SET turn_id = ?, expires_ms = ? WHERE owner = ? AND request_id = ? AND sid = ?",
		turn.TurnID, now+sessions.Time(end.ClaimTTLMs), session.Owner, turn.RequestID, life); err != nil {
		return turn, sessions.Frame{}, err
	}
	body := end.Frame()
	row, err := encodeFrame(body)
	if err != nil {
		return turn, sessions.Frame{}, err
	}
	err = t.frames(session).append(t, frameBatch{life: life, turn: turn.num, first: turn.FirstFrame, at: now,
		rows: []frameRow{row}, fresh: true, last: true})
	return turn, numbered(life, turn.Turn, turn.FirstFrame, now, []sessions.FrameBody{body})[0], err
}

// turnOf returns the turn of a prompt; a text that waited for another turn gets
// one of its own.
func turnOf(t *tx, life sessions.Incarnation, prompt pendingRow) (turnRow, error) {
	if prompt.waitsFor == 0 {
		return findTurn(always, t, prompt.turn.TurnID)
	}
	num, err := insertTurn(t, life, prompt.turn)
	return turnRow{Turn: prompt.turn, num: num, life: life}, err
}
