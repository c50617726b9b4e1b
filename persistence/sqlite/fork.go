package sqlite

import (
	"context"

	"agenthost/sessions"
)

// ForkSession copies a conversation; see the port.
func (s *Store) ForkSession(context.Context, sessions.ForkSession) (sessions.ForkedSession, error) {
	return sessions.ForkedSession{}, errUnsupported
}
