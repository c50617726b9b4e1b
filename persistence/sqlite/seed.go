package sqlite

import (
	"context"

	"agenthost/sessions"
)

// seeding is a transcript on its way into the store.
type seeding struct {
	store    *Store
	c        sessions.SeedSession
	request  claimant
	messages []body
	preview  string
	state    []stateRow
}

// SeedSession appends a transcript; see the port.
func (s *Store) SeedSession(ctx context.Context, c sessions.SeedSession) (sessions.SeededSession, error) {
	p := &seeding{store: s, c: c, request: newClaimant(s.tombs, c.Owner, c.Request, c.Now)}
	for _, m := range c.Messages {
		sealedBody, err := encodeMessage(m)
		if err != nil {
			return sessions.SeededSession{}, err
		}
		p.messages = append(p.messages, sealedBody)
		if p.preview == "" && m.Role == sessions.RoleUser {
			p.preview = sessions.Preview(m.Content)
		}
	}
	p.state = sealedState(c.State)
	p.c.Messages, p.c.State = nil, nil // the caller's, and sealed by now
	return do(ctx, s.writer, p.run)
}

func (p *seeding) run(t *tx) (sessions.SeededSession, error) {
	var none sessions.SeededSession
	claim, err := p.request.find(t)
	if err != nil {
		return none, err
	}
	if claim != nil {
		session, err := claim.session(t)
		if err != nil {
			return none, err
		}
		return sessions.SeededSession{Session: session.Session, Appended: int(claim.appended), Duplicate: true}, nil
	}
	session, err := p.target(t)
	if err != nil {
		return none, err
	}
	if err := p.write(t, session); err != nil {
		return none, err
	}
	return sessions.SeededSession{Session: session.Session, Appended: len(p.messages)}, nil
}

// target returns the session to append to, a new one if its address has none.
func (p *seeding) target(t *tx) (*sessionRow, error) {
	session, err := findSession(always, t, p.c.Owner, p.c.At)
	switch {
	case err != nil:
		return nil, err
	case session == nil:
		n := newSession{owner: p.c.Owner, id: p.c.At.ID, profile: p.c.Profile, epoch: 1, labels: "{}", now: p.c.Now}
		if n.id == "" {
			n.id, n.target, n.profile = p.c.NewID, p.c.At.Key.Target, p.c.At.Key.Profile
		}
		return p.store.createSession(t, n)
	case session.Status == sessions.StatusClosed:
		return nil, sessions.ErrSessionClosed
	case session.damaged:
		return nil, errDamaged
	}
	return session, session.busy()
}

func (p *seeding) write(t *tx, session *sessionRow) error {
	life := session.Fence.Incarnation
	first := session.MessageCount + 1
	session.MessageCount += int64(len(p.messages))
	session.LastActiveAt = t.activeAt(p.c.Now)
	if session.Preview == "" {
		session.Preview = p.preview
	}
	if err := saveSession(t, session.Fence, session.Session); err != nil {
		return err
	}
	for i, b := range p.messages {
		if err := insertMessage(t, life, first+int64(i), p.c.Now, b); err != nil {
			return err
		}
	}
	if err := saveState(t, life, p.state, p.c.Now); err != nil {
		return err
	}
	return p.request.store(t, life, int64(len(p.messages)))
}
