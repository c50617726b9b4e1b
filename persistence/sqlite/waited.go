package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"slices"

	"agenthost/sessions"
)

// answering is an answer on its way into the store.
type answering struct {
	c      sessions.AnswerCall
	digest []byte
	body   body
}

// AnswerCall stores a client's answer to a call; see the port.
func (s *Store) AnswerCall(ctx context.Context, c sessions.AnswerCall) (sessions.AnsweredCall, error) {
	digest := c.Answer.Digest()
	sealedBody, err := encodeAnswer(c.Answer)
	if err != nil {
		return sessions.AnsweredCall{}, err
	}
	p := &answering{c, digest[:], sealedBody}
	return do(ctx, s.writer, p.run)
}

func (p *answering) run(t *tx) (sessions.AnsweredCall, error) {
	var none sessions.AnsweredCall
	session, err := findSession(always, t, p.c.Owner, p.c.At)
	switch {
	case err != nil:
		return none, err
	case session == nil:
		return none, sessions.ErrNoSession
	case session.Status == sessions.StatusClosed:
		return none, sessions.ErrSessionClosed
	case session.damaged:
		return none, errDamaged
	}
	call, err := p.find(t, session.Fence.Incarnation)
	if err != nil {
		return none, err
	}
	switch {
	case call.digest == nil:
		return p.store(t, session, call)
	case !bytes.Equal(call.digest, p.digest):
		return none, sessions.ErrOtherAnswer
	}
	return sessions.AnsweredCall{Session: session.Session, TurnID: call.turn, Repeat: true}, nil
}

// find returns the call that the answer fits to.
func (p *answering) find(t *tx, life sessions.Incarnation) (waitedRow, error) {
	known, err := findWaited(t, life, p.c.CallID)
	if err != nil {
		return waitedRow{}, err
	}
	if len(known) == 0 {
		return waitedRow{}, sessions.ErrNoCall
	}
	i := slices.IndexFunc(known, func(w waitedRow) bool { return p.c.Answer.Answers(w.kind) })
	if i < 0 {
		return waitedRow{}, sessions.ErrWrongAnswer
	}
	return known[i], nil
}

// store answers a call that waits, and so its turn, which is the active one.
func (p *answering) store(t *tx, session *sessionRow, call waitedRow) (sessions.AnsweredCall, error) {
	var none sessions.AnsweredCall
	turn, err := findTurn(always, t, call.turn)
	if err != nil {
		return none, err
	}
	session.LastFrame++
	session.LastActiveAt = t.activeAt(p.c.Now)
	session.Pending = slices.DeleteFunc(session.Pending, func(w sessions.Pending) bool { return w.CallID == p.c.CallID })
	if err := saveSession(t, session.Fence, session.Session); err != nil {
		return none, err
	}
	life := session.Fence.Incarnation
	if _, err := t.exec("UPDATE waited_calls SET digest = ?, answer = ?, answer_crc = ? WHERE sid = ? AND call_id = ? AND kind = ?",
		p.digest, p.body.json, p.body.crc, life, p.c.CallID, call.kind); err != nil {
		return none, err
	}
	body := sessions.Answered{CallID: p.c.CallID}
	row, err := encodeFrame(body)
	if err != nil {
		return none, err
	}
	frames := frameBatch{life: life, turn: turn.num, first: session.LastFrame, at: p.c.Now, rows: []frameRow{row}}
	if err := t.frames(session).append(t, frames); err != nil {
		return none, err
	}
	t.keep(session, turn)
	return sessions.AnsweredCall{Session: session.Session, TurnID: turn.TurnID,
		Frames: numbered(life, turn.Turn, session.LastFrame, p.c.Now, []sessions.FrameBody{body})}, nil
}

// WaitedCalls returns what a turn waits for; see the port.
func (s *Store) WaitedCalls(ctx context.Context, life sessions.Incarnation, id sessions.TurnID) (sessions.WaitedCalls, error) {
	waited := sessions.WaitedCalls{Answers: map[sessions.CallID]sessions.CallAnswer{}}
	err := s.ofLife(ctx, life, func(q querier, _ *sessionRow) error {
		return q.each(ctx, `SELECT w.call_id, w.kind, w.body, w.crc, w.answer, w.answer_crc FROM waited_calls w
                JOIN turns t ON t.num = w.turn
            WHERE w.sid = ? AND w.waits = 1 AND t.turn_id = ? ORDER BY w.place`, func(row scanner) error {
			var call sessions.CallID
			var kind sessions.PendingKind
			var b, given body
			var crc sql.Null[int64]
			if err := row.Scan(&call, &kind, &b.json, &b.crc, &given.json, &crc); err != nil {
				return err
			}
			pending, err := decodeWaited(call, kind, b)
			if err != nil {
				return err
			}
			waited.Pending = append(waited.Pending, pending)
			if !crc.Valid {
				return nil
			}
			given.crc = crc.V
			waited.Answers[call], err = decodeAnswer(given)
			return err
		}, life, id)
	})
	if err != nil {
		return sessions.WaitedCalls{}, err
	}
	return waited, nil
}
