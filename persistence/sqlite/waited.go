package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"slices"

	"agenthost/sessions"
)

// answering are answers on their way into the store.
type answering struct {
	c      sessions.AnswerCalls
	hash   []byte // of the request's id, for its tombstone
	given  []givenAnswer
	agrees error // that they do not agree
}

// givenAnswer is one of them as it is stored.
type givenAnswer struct {
	sessions.GivenAnswer
	digest [32]byte
	body   body
}

// AnswerCalls stores a client's answers to calls; see the port.
func (s *Store) AnswerCalls(ctx context.Context, c sessions.AnswerCalls) (sessions.AnsweredCalls, error) {
	digests := c.Digests()
	p := &answering{c: c, agrees: c.Agree(digests)}
	if c.Request != nil {
		p.hash = s.tombs.request(c.Owner, c.Request.ID)
	}
	for i, g := range c.Answers {
		sealedBody, err := encodeAnswer(g.Answer)
		if err != nil {
			return sessions.AnsweredCalls{}, err
		}
		p.given = append(p.given, givenAnswer{g, digests[i], sealedBody})
	}
	return do(ctx, s.writer, p.run)
}

func (p *answering) run(t *tx) (sessions.AnsweredCalls, error) {
	var none sessions.AnsweredCalls
	if done, claimed, err := p.claimed(t); err != nil || claimed {
		return done, err
	}
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
	calls, err := p.calls(t, session.Fence.Incarnation)
	if err != nil {
		return none, err
	}
	done := sessions.AnsweredCalls{Repeat: true}
	stored := map[waitedKey]bool{}
	for i, call := range calls {
		key := waitedKey{p.given[i].CallID, call.kind}
		if call.digest == nil && !stored[key] {
			frames, err := p.given[i].store(t, session, call, p.c.Now)
			if err != nil {
				return none, err
			}
			stored[key] = true
			done.Repeat, done.Frames = false, append(done.Frames, frames...)
		}
		done.TurnID = call.turn
	}
	done.Session = session.Session
	return done, p.claim(t, session.Fence.Incarnation, done.TurnID)
}

// claimed answers a request that has given its answers before.
func (p *answering) claimed(t *tx) (done sessions.AnsweredCalls, claimed bool, err error) {
	if p.c.Request == nil {
		return done, false, nil
	}
	claim, err := findClaim(always, t, p.c.Owner, p.c.Request.ID, p.hash, p.c.Now)
	if err != nil || claim == nil {
		return done, false, err
	}
	if err := claim.repeated(p.c.Request.Fingerprint); err != nil {
		return done, false, err
	}
	session, err := claim.session(t)
	if err != nil {
		return done, false, err
	}
	return sessions.AnsweredCalls{Session: session.Session, TurnID: claim.TurnID, Repeat: true, Claimed: true}, true, nil
}

// claim makes the request known with its answers.
func (p *answering) claim(t *tx, life sessions.Incarnation, turn sessions.TurnID) error {
	if p.c.Request == nil {
		return nil
	}
	row := claimRow{Claim: sessions.Claim{Life: life, TurnID: turn}}
	return insertClaim(t, p.c.Owner, *p.c.Request, row, expiresAt(p.c.Now+sessions.Time(p.c.Request.TTLMs)))
}

// waitedKey is what tells the waits of a session apart.
type waitedKey struct {
	call sessions.CallID
	kind sessions.PendingKind
}

// calls returns the call of each answer. Nothing is written before all of them are
// known to take theirs.
func (p *answering) calls(t *tx, life sessions.Incarnation) ([]waitedRow, error) {
	if p.agrees != nil {
		return nil, p.agrees
	}
	calls := make([]waitedRow, len(p.given))
	for i, g := range p.given {
		call, err := g.find(t, life)
		if err == nil && call.digest != nil && !bytes.Equal(call.digest, g.digest[:]) {
			err = sessions.ErrOtherAnswer
		}
		if err != nil {
			return nil, err
		}
		calls[i] = call
	}
	return calls, nil
}

// find returns the call that the answer fits to.
func (g givenAnswer) find(t *tx, life sessions.Incarnation) (waitedRow, error) {
	known, err := findWaited(t, life, g.CallID)
	if err != nil {
		return waitedRow{}, err
	}
	if len(known) == 0 {
		return waitedRow{}, sessions.ErrNoCall
	}
	i := slices.IndexFunc(known, func(w waitedRow) bool { return g.Answer.Answers(w.kind) })
	if i < 0 {
		return waitedRow{}, sessions.ErrWrongAnswer
	}
	return known[i], nil
}

// store answers a call that waits, and so its turn, which is the active one.
func (g givenAnswer) store(t *tx, session *sessionRow, call waitedRow, now sessions.Time) ([]sessions.Frame, error) {
	turn, err := findTurn(always, t, call.turn)
	if err != nil {
		return nil, err
	}
	session.LastFrame++
	session.Pending = slices.DeleteFunc(session.Pending, func(w sessions.Pending) bool { return w.CallID == g.CallID })
	if err := saveSession(t, session.Fence, session.Session); err != nil {
		return nil, err
	}
	life := session.Fence.Incarnation
	if _, err := t.exec("UPDATE waited_calls SET digest = ?, answer = ?, answer_crc = ? WHERE sid = ? AND call_id = ? AND kind = ?",
		g.digest[:], g.body.json, g.body.crc, life, g.CallID, call.kind); err != nil {
		return nil, err
	}
	body := sessions.Answered{CallID: g.CallID}
	row, err := encodeFrame(body)
	if err != nil {
		return nil, err
	}
	frames := frameBatch{life: life, turn: turn.num, first: session.LastFrame, at: now, rows: []frameRow{row}}
	if err := t.frames(session).append(t, frames); err != nil {
		return nil, err
	}
	t.keep(session, turn)
	return numbered(life, turn.Turn, session.LastFrame, now, []sessions.FrameBody{body}), nil
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
