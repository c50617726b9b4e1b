package sqlite

import (
	"context"

	"agenthost/sessions"
)

// Over reports whether a life is over; see the port. Lives are numbered by the
// sequence of the sessions table, so one at or below its mark was a session.
func (s *Store) Over(ctx context.Context, life sessions.Incarnation) (bool, error) {
	var over bool
	err := s.readers.read(ctx, func(q querier) error {
		return q.row(ctx, `SELECT ?1 > 0
            AND ?1 <= (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'sessions')
            AND NOT EXISTS (SELECT 1 FROM sessions WHERE sid = ?1 AND deleted_ms IS NULL)`, life).Scan(&over)
	})
	return over, err
}

// Deleted reports whether a session of an id was deleted; see the port.
func (s *Store) Deleted(ctx context.Context, owner sessions.Owner, id sessions.SessionID, now sessions.Time) (bool, error) {
	hash, deleted := s.tombs.session(owner, id), false
	err := s.readers.read(ctx, func(q querier) error {
		return q.row(ctx, `SELECT EXISTS (SELECT 1 FROM session_tombstones WHERE session_hash = ?1 AND expires_ms > ?2
            AND sid > coalesce((SELECT cleared_sid FROM owners WHERE owner = ?3), 0))`, hash, now, owner).Scan(&deleted)
	})
	return deleted, err
}
