package sqlite

import (
	"context"

	"agenthost/sessions"
)

// errUnsupported refuses what the store cannot do.
var errUnsupported = sessions.Errorf(sessions.CodeNotSupported, "This store does not offer the operation.")

// Compact removes the last of what was deleted; see the port.
func (s *Store) Compact(context.Context) (sessions.Compaction, error) {
	return sessions.Compaction{}, errUnsupported
}
