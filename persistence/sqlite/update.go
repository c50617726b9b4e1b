package sqlite

import (
	"context"

	"agenthost/sessions"
)

// UpdateSession changes title and labels; see the port.
func (s *Store) UpdateSession(ctx context.Context, c sessions.UpdateSession) (sessions.Session, error) {
	labels, err := encodeLabels(c.Labels)
	if err != nil {
		return sessions.Session{}, err
	}
	relabel := c.Labels != nil
	title, retitle := "", c.Title != nil
	if retitle {
		title = *c.Title
	}
	return do(ctx, s.writer, func(t *tx) (sessions.Session, error) {
		session, err := findSession(always, t, c.Owner, c.At)
		if err != nil {
			return sessions.Session{}, err
		}
		if session == nil {
			return sessions.Session{}, sessions.ErrNoSession
		}
		_, err = t.exec(`UPDATE sessions SET title = CASE WHEN ? THEN ? ELSE title END,
                labels = CASE WHEN ? THEN ? ELSE labels END WHERE sid = ?`,
			retitle, title, relabel, labels, session.Fence.Incarnation)
		if err != nil {
			return sessions.Session{}, err
		}
		changed, err := liveSession(always, t, session.Fence.Incarnation)
		if err != nil {
			return sessions.Session{}, err
		}
		return changed.Session, nil
	})
}
