package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"agenthost/sessions"
)

var errLocationRef = sessions.Errorf(sessions.CodeSessionDamaged,
	"A sub-session's record does not say where it lives, which is never guessed; delete the session to go on.")

// AddRefs stores refs unless they are there; see the port.
func (s *Store) AddRefs(ctx context.Context, parent sessions.Incarnation, refs []sessions.Ref) ([]sessions.Ref, error) {
	for _, ref := range refs {
		if err := ref.Location.Check("/location"); err != nil {
			return nil, err
		}
	}
	return do(ctx, s.writer, func(t *tx) ([]sessions.Ref, error) {
		if err := requireLife(t, parent); err != nil {
			return nil, err
		}
		if err := requireLocations(t, parent); err != nil {
			return nil, err
		}
		stored := make([]sessions.Ref, len(refs))
		for i, ref := range refs {
			var err error
			if stored[i], err = addRef(t, parent, ref); err != nil {
				return nil, err
			}
		}
		return stored, nil
	})
}

// requireLife refuses a write to a life that is over.
func requireLife(t *tx, life sessions.Incarnation) error {
	session, err := liveSession(always, t, life)
	if err == nil && session == nil {
		err = sessions.ErrFenced
	}
	return err
}

// requireLocations refuses, before anything is written, what scanRef would.
func requireLocations(t *tx, parent sessions.Incarnation) error {
	var lacking bool
	err := t.row(always, "SELECT EXISTS (SELECT 1 FROM sub_session_refs WHERE sid = ? AND location NOT IN ('local', 'remote'))", parent).
		Scan(&lacking)
	if err == nil && lacking {
		err = errLocationRef
	}
	return err
}

// addRef stores a ref unless the life has it, and returns the stored one.
func addRef(t *tx, parent sessions.Incarnation, ref sessions.Ref) (sessions.Ref, error) {
	stored, known, err := findRef(t, parent, ref)
	if err != nil || known {
		return stored, err
	}
	if _, err := t.exec(`INSERT INTO sub_session_refs
            (sid, child_id, location, profile_key, name, host, turn_id, call_id, status, created_ms, ended_ms)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		parent, ref.SessionID, ref.Location, ref.ProfileKey, ref.Name, ref.Host, ref.TurnID, ref.CallID,
		ref.Status, ref.CreatedAt, ref.EndedAt); err != nil {
		return sessions.Ref{}, err
	}
	stored, _, err = findRef(t, parent, ref)
	return stored, err
}

// selectRefs reads refs of a life, each with the session that a local one names.
const selectRefs = `SELECT r.child_id, r.location, r.profile_key, r.name, r.host, r.turn_id, r.call_id, r.status,
        r.created_ms, r.ended_ms, coalesce(c.status, ''), coalesce(c.closed_ms, 0)
    FROM sub_session_refs r JOIN sessions p ON p.sid = r.sid
        LEFT JOIN sessions c ON c.owner = p.owner AND c.id = r.child_id AND c.deleted_ms IS NULL
    WHERE r.sid = ? `

func scanRef(row scanner) (r sessions.Ref, err error) {
	var status sessions.Status
	var closed sessions.Time
	err = row.Scan(&r.SessionID, &r.Location, &r.ProfileKey, &r.Name, &r.Host, &r.TurnID, &r.CallID, &r.Status,
		&r.CreatedAt, &r.EndedAt, &status, &closed)
	switch {
	case err != nil || r.Location == sessions.Remote:
	case r.Location != sessions.Local:
		err = errLocationRef
	case status == "":
		r.Status, r.EndedAt = sessions.RefGone, 0
	default:
		r.Status, r.EndedAt = sessions.RefStatus(status), closed
	}
	return r, err
}

// findRef returns the ref that a life has for the same session, call or
// companion.
func findRef(t *tx, parent sessions.Incarnation, like sessions.Ref) (ref sessions.Ref, known bool, err error) {
	if like.SessionID != "" {
		ref, known, err = oneRef(t, "r.child_id = ?", parent, like.SessionID)
	}
	if err == nil && !known && like.CallID != "" {
		ref, known, err = oneRef(t, "r.turn_id = ? AND r.call_id = ? AND r.call_id <> ''", parent, like.TurnID, like.CallID)
	}
	if err == nil && !known && like.Name != "" {
		ref, known, err = oneRef(t, "r.host = ? AND r.profile_key = ? AND r.name = ? AND r.name <> ''",
			parent, like.Host, like.ProfileKey, like.Name)
	}
	return ref, known, err
}

func oneRef(t *tx, where string, args ...any) (sessions.Ref, bool, error) {
	ref, err := scanRef(t.row(always, selectRefs+"AND "+where, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return sessions.Ref{}, false, nil
	}
	return ref, err == nil, err
}

// SettleRef changes the status of a remote ref; see the port.
func (s *Store) SettleRef(ctx context.Context, c sessions.SettleRef) error {
	var ended sessions.Time
	if c.Status.Ended() {
		ended = c.Now
	}
	_, err := do(ctx, s.writer, func(t *tx) (bool, error) {
		if err := requireLife(t, c.Parent); err != nil {
			return false, err
		}
		n, err := t.exec(`UPDATE sub_session_refs SET status = iif(status = ?1, status, ?2), ended_ms = iif(status = ?1, ended_ms, ?3)
            WHERE sid = ?4 AND child_id = ?5 AND location = 'remote'`,
			sessions.RefClosed, c.Status, ended, c.Parent, c.Child)
		if err == nil && n == 0 {
			err = sessions.ErrNoRef
		}
		return true, err
	})
	return err
}

// RemoveRef forgets a remote ref; see the port.
func (s *Store) RemoveRef(ctx context.Context, parent sessions.Incarnation, child sessions.SessionID) error {
	_, err := do(ctx, s.writer, func(t *tx) (int64, error) {
		if err := requireLife(t, parent); err != nil {
			return 0, err
		}
		return t.exec("DELETE FROM sub_session_refs WHERE sid = ? AND child_id = ? AND location = 'remote'", parent, child)
	})
	return err
}

// Refs returns the refs of a life; see the port. A record that is damaged does
// not make the session so: its transcript is whole.
func (s *Store) Refs(ctx context.Context, parent sessions.Incarnation) (refs []sessions.Ref, err error) {
	err = s.readers.read(ctx, func(q querier) error {
		session, err := liveSession(ctx, q, parent)
		if err != nil {
			return err
		}
		if session == nil {
			return sessions.ErrLifeOver
		}
		return q.each(ctx, selectRefs+"ORDER BY r.num", func(row scanner) error {
			ref, err := scanRef(row)
			refs = append(refs, ref)
			return err
		}, parent)
	})
	if err != nil {
		return nil, err
	}
	return refs, nil
}
