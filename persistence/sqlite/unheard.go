package sqlite

import (
	"context"

	"agenthost/sessions"
)

// Unheard returns deleted sessions that nobody has been told of; see the port.
func (s *Store) Unheard(context.Context, int) ([]sessions.DeletedSession, error) { return nil, nil }

// Heard forgets them; see the port.
func (s *Store) Heard(context.Context, []sessions.DeletedSession) error { return nil }
