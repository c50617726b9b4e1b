package memory

import (
	"context"
	"encoding/json"
	"slices"

	"agenthost/sessions"
)

// SetState stores or removes one value; see the port.
func (s *Store) SetState(ctx context.Context, c sessions.SetState) (int64, error) {
	return write(ctx, s, func() (int64, error) {
		r := s.find(c.Owner, c.At)
		switch {
		case r == nil:
			return 0, sessions.ErrNoSession
		case r.session.Status == sessions.StatusClosed:
			return 0, sessions.ErrSessionClosed
		}
		stored, known := r.state[c.Name]
		present := known && !stored.removed
		have := int64(0)
		if present {
			have = stored.Version
		}
		if c.IfVersion != nil && *c.IfVersion != have {
			return 0, sessions.Errorf(sessions.CodeConflict, "The value has version %d, not %d; read it and try again.", have, *c.IfVersion).
				With("version", have)
		}
		switch {
		case c.Value != nil:
			return r.set(c.Name, stateOf(c.Value), c.Now), nil
		case present:
			return r.set(c.Name, value{removed: true}, c.Now), nil
		default:
			return stored.Version, nil
		}
	})
}

func stateOf(raw json.RawMessage) value {
	return value{StateValue: sessions.StateValue{Value: slices.Clone(raw)}}
}

// State returns named values of a life; see the port.
func (s *Store) State(ctx context.Context, life sessions.Incarnation, name string) (map[string]sessions.StateValue, error) {
	return ofLife(ctx, s, life, func(r *record) (map[string]sessions.StateValue, error) {
		found := map[string]sessions.StateValue{}
		for key, v := range r.state {
			if !v.removed && (name == "" || name == key) {
				found[key] = copyValue(v.StateValue)
			}
		}
		return found, nil
	})
}
