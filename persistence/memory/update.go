package memory

import (
	"context"
	"maps"

	"agenthost/sessions"
)

// UpdateSession changes title and labels; see the port.
func (s *Store) UpdateSession(ctx context.Context, c sessions.UpdateSession) (sessions.Session, error) {
	return write(ctx, s, func() (sessions.Session, error) {
		r := s.find(c.Owner, c.At)
		if r == nil {
			return sessions.Session{}, sessions.ErrNoSession
		}
		if c.Title != nil {
			r.session.Title = *c.Title
		}
		if c.Labels != nil {
			r.session.Labels = maps.Clone(c.Labels)
		}
		return copySession(r.session), nil
	})
}
