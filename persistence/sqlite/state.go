package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"agenthost/sessions"
)

// saveState stores values, each one version above the one before.
func saveState(t *tx, life sessions.Incarnation, values []stateRow, now sessions.Time) error {
	for _, v := range values {
		if _, err := t.exec(`INSERT INTO session_state (sid, name, version, updated_ms, body, crc) VALUES (?, ?, 1, ?, ?, ?)
            ON CONFLICT (sid, name) DO UPDATE SET version = version + 1, updated_ms = excluded.updated_ms,
                removed = 0, body = excluded.body, crc = excluded.crc`, life, v.name, now, v.body.json, v.body.crc); err != nil {
			return err
		}
	}
	return nil
}

// sealedState returns values as rows, in the order of their names.
func sealedState(values map[string]json.RawMessage) (rows []stateRow) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		rows = append(rows, stateRow{name, sealed(bytes.Clone(values[name]))})
	}
	return rows
}

// SetState stores or removes one value; see the port.
func (s *Store) SetState(ctx context.Context, c sessions.SetState) (int64, error) {
	value := stateRow{c.Name, sealed(bytes.Clone(c.Value))}
	remove, want, conditional := c.Value == nil, int64(0), c.IfVersion != nil
	if conditional {
		want = *c.IfVersion
	}
	return do(ctx, s.writer, func(t *tx) (int64, error) {
		session, err := findSession(always, t, c.Owner, c.At)
		switch {
		case err != nil:
			return 0, err
		case session == nil:
			return 0, sessions.ErrNoSession
		case session.Status == sessions.StatusClosed:
			return 0, sessions.ErrSessionClosed
		}
		life := session.Fence.Incarnation
		version, present, err := stateVersion(t, life, c.Name)
		if err != nil {
			return 0, err
		}
		if have := present * version; conditional && want != have {
			return 0, sessions.Errorf(sessions.CodeConflict, "The value has version %d, not %d; read it and try again.", have, want).
				With("version", have)
		}
		if !remove {
			return version + 1, saveState(t, life, []stateRow{value}, c.Now)
		}
		if present == 0 {
			return version, nil
		}
		_, err = t.exec(`UPDATE session_state SET version = version + 1, updated_ms = ?, removed = 1, body = x'', crc = 0
            WHERE sid = ? AND name = ?`, c.Now, life, c.Name)
		return version + 1, err
	})
}

// stateVersion returns the last version of a value, 0 if it never had one, and
// 1 as present unless it is removed.
func stateVersion(t *tx, life sessions.Incarnation, name string) (version, present int64, err error) {
	err = t.row(always, "SELECT version, 1 - removed FROM session_state WHERE sid = ? AND name = ?", life, name).
		Scan(&version, &present)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, 0, nil
	}
	return version, present, err
}

// State returns named values of a life; see the port.
func (s *Store) State(ctx context.Context, life sessions.Incarnation, name string) (map[string]sessions.StateValue, error) {
	found := map[string]sessions.StateValue{}
	err := s.ofLife(ctx, life, func(q querier, _ *sessionRow) error {
		return q.each(ctx, "SELECT name, version, updated_ms, body, crc FROM session_state WHERE sid = ? AND removed = 0 AND (? = '' OR name = ?)",
			func(row scanner) error {
				var key string
				var v sessions.StateValue
				var b body
				if err := row.Scan(&key, &v.Version, &v.UpdatedAt, &b.json, &b.crc); err != nil {
					return err
				}
				if !b.intact() {
					return errDamaged
				}
				v.Value = json.RawMessage(b.json)
				found[key] = v
				return nil
			}, life, name, name)
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}
