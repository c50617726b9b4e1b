package sqlite

import (
	"context"

	"agenthost/sessions"
)

// AddRefs stores refs unless they are there; see the port.
func (s *Store) AddRefs(context.Context, sessions.Incarnation, []sessions.Ref) ([]sessions.Ref, error) {
	return nil, errUnsupported
}

// SettleRef changes the status of a remote ref; see the port.
func (s *Store) SettleRef(context.Context, sessions.SettleRef) error { return errUnsupported }

// RemoveRef forgets a remote ref; see the port.
func (s *Store) RemoveRef(context.Context, sessions.Incarnation, sessions.SessionID) error {
	return errUnsupported
}

// Refs returns the refs of a life; see the port.
func (s *Store) Refs(context.Context, sessions.Incarnation) ([]sessions.Ref, error) {
	return nil, errUnsupported
}
