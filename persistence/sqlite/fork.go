package sqlite

import (
	"context"

	"agenthost/sessions"
)

// forking is a copy of a conversation on its way into the store. Stored messages
// never change, so those there are beforehand are copied by the caller's
// goroutine, and the writer copies what has come since.
type forking struct {
	store   *Store
	c       sessions.ForkSession
	request claimant
	life    sessions.Incarnation // that ahead is of
	ahead   transcript
}

// ForkSession copies a conversation; see the port. The fork is a session that
// has had no turn.
func (s *Store) ForkSession(ctx context.Context, c sessions.ForkSession) (sessions.ForkedSession, error) {
	p := &forking{store: s, c: c, request: newClaimant(s.tombs, c.Owner, c.Request, c.Now)}
	if err := p.readAhead(ctx); err != nil {
		return sessions.ForkedSession{}, err
	}
	return do(ctx, s.writer, p.run)
}

// readAhead copies what the origin has now. Whatever is wrong with the origin,
// a repeat has its answer, so that is for the writer to say.
func (p *forking) readAhead(ctx context.Context) error {
	origin, err := p.store.Resolve(ctx, p.c.Owner, p.c.At)
	if err != nil || origin.Life == 0 {
		return err
	}
	var ahead transcript
	err = p.store.ofLife(ctx, origin.Life, func(q querier, _ *sessionRow) error {
		return ahead.read(ctx, q, origin.Life, p.c.ThroughSeq)
	})
	switch sessions.CodeOf(err) {
	case "":
		p.life, p.ahead = origin.Life, ahead
	case sessions.CodeSessionDamaged, sessions.CodeSessionNotFound:
	default:
		return err
	}
	return nil
}

func (p *forking) run(t *tx) (sessions.ForkedSession, error) {
	var none sessions.ForkedSession
	claim, err := p.request.find(t)
	if err != nil {
		return none, err
	}
	if claim != nil {
		session, err := claim.session(t)
		if err != nil {
			return none, err
		}
		return sessions.ForkedSession{Session: session.Session, Duplicate: true}, nil
	}
	origin, err := p.origin(t)
	if err != nil {
		return none, err
	}
	copied, state, err := p.copies(t, origin)
	if err != nil {
		return none, err
	}
	fork, err := p.write(t, origin, copied, state)
	if err != nil {
		return none, err
	}
	return sessions.ForkedSession{Session: fork.Session}, nil
}

// origin returns the session to copy, if it can be copied to where it should.
func (p *forking) origin(t *tx) (*sessionRow, error) {
	origin, err := findSession(always, t, p.c.Owner, p.c.At)
	switch {
	case err != nil:
		return nil, err
	case origin == nil:
		return nil, sessions.ErrNoSession
	case origin.damaged:
		return nil, errDamaged
	case p.c.ThroughSeq < 0 || p.c.ThroughSeq > origin.MessageCount:
		return nil, sessions.InvalidField("/args/throughSeq",
			"The session has messages 1 to %d; choose one of them, or leave it out for all.", origin.MessageCount)
	}
	places := []sessions.Address{{ID: p.c.NewID}}
	if p.c.NewTarget != "" {
		places = append(places, sessions.Address{Key: sessions.Key{Target: p.c.NewTarget, Profile: origin.ProfileKey}})
	}
	for _, place := range places {
		taken, err := findSession(always, t, p.c.Owner, place)
		if err != nil {
			return nil, err
		}
		if taken != nil {
			return nil, sessions.ErrForkTaken
		}
	}
	return origin, nil
}

// whole reports whether the fork gets every message that is stored.
func (p *forking) whole(origin *sessionRow) bool {
	return p.c.ThroughSeq == 0 || p.c.ThroughSeq == origin.MessageCount
}

// copies returns all that the fork gets of its origin.
func (p *forking) copies(t *tx, origin *sessionRow) (transcript, []stateRow, error) {
	life := origin.Fence.Incarnation
	var copied transcript
	if life == p.life {
		copied = p.ahead.clone()
	}
	if err := copied.read(always, t, life, p.c.ThroughSeq); err != nil {
		return copied, nil, err
	}
	if !p.whole(origin) {
		return copied, nil, copied.close(p.c.Now)
	}
	var state []stateRow
	err := t.each(always, "SELECT name, body, crc FROM session_state WHERE sid = ? AND removed = 0 ORDER BY name", func(row scanner) error {
		var v stateRow
		if err := row.Scan(&v.name, &v.body.json, &v.body.crc); err != nil {
			return err
		}
		if !v.body.intact() {
			return errDamaged
		}
		state = append(state, v)
		return nil
	}, life)
	if err != nil {
		return copied, nil, err
	}
	return copied, state, copied.close(p.c.Now)
}

func (p *forking) write(t *tx, origin *sessionRow, copied transcript, state []stateRow) (*sessionRow, error) {
	labels, err := encodeLabels(origin.Labels)
	if err != nil {
		return nil, err
	}
	born := newSession{owner: p.c.Owner, id: p.c.NewID, target: p.c.NewTarget,
		profile: origin.ProfileKey, epoch: 1, title: origin.Title, labels: labels, now: p.c.Now}
	if p.whole(origin) {
		born.agent = origin.AgentID
	}
	fork, err := p.store.createSession(t, born)
	if err != nil {
		return nil, err
	}
	life := fork.Fence.Incarnation
	if _, err := t.exec("UPDATE sessions SET forked_from = ?, preview = ?, message_count = ? WHERE sid = ?",
		origin.ID, copied.preview, len(copied.messages), life); err != nil {
		return nil, err
	}
	if err := copied.insert(t, life); err != nil {
		return nil, err
	}
	if err := saveState(t, life, state, p.c.Now); err != nil {
		return nil, err
	}
	if err := copySummary(t, origin, life, p.c); err != nil {
		return nil, err
	}
	if err := p.request.store(t, life, 0); err != nil {
		return nil, err
	}
	return liveSession(always, t, life)
}
