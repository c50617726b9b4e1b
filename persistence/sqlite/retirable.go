package sqlite

import (
	"context"

	"agenthost/sessions"
)

// Retirable returns roots that retention may end; see the port.
func (s *Store) Retirable(context.Context, sessions.RetireQuery) (sessions.RetirePage, error) {
	return sessions.RetirePage{}, errUnsupported
}
