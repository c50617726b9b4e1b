package memory

import (
	"cmp"
	"context"

	"agenthost/sessions"
)

// SeedSession appends a transcript; see the port.
func (s *Store) SeedSession(ctx context.Context, c sessions.SeedSession) (sessions.SeededSession, error) {
	return write(ctx, s, func() (sessions.SeededSession, error) {
		claimed, err := s.repeated(c.Owner, c.Request, c.Now, false)
		if err != nil {
			return sessions.SeededSession{}, err
		}
		if claimed != nil {
			session := copySession(s.lives[claimed.life].session)
			return sessions.SeededSession{Session: session, Appended: claimed.appended, Duplicate: true}, nil
		}
		r := s.find(c.Owner, c.At)
		switch {
		case r == nil:
			template := sessions.Session{ID: cmp.Or(c.At.ID, c.NewID), Owner: c.Owner, ProfileKey: c.Profile, Fence: sessions.Fence{Epoch: 1}}
			if c.At.ID == "" {
				template.TargetKey, template.ProfileKey = c.At.Key.Target, c.At.Key.Profile
			}
			r = s.born(template, c.Now)
		case r.session.Status == sessions.StatusClosed:
			return sessions.SeededSession{}, sessions.ErrSessionClosed
		case r.busy() != nil:
			return sessions.SeededSession{}, r.busy()
		}
		for _, m := range c.Messages {
			m.CreatedAt = c.Now
			r.append(m)
		}
		for name, raw := range c.State {
			r.set(name, stateOf(raw), c.Now)
		}
		r.session.LastActiveAt = s.activeAt(c.Now)
		s.claim(c.Owner, c.Request, r, len(c.Messages), c.Now)
		return sessions.SeededSession{Session: copySession(r.session), Appended: len(c.Messages)}, nil
	})
}
