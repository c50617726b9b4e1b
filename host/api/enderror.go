package api

import (
	"fmt"

	"agenthost/sessions"
)

// EndError is the error of reading on from a subscription that has ended. A
// subscription whose reader went away itself has no EndError.
type EndError struct {
	Reason EndReason
	// Cursor is the position after the last frame that was read.
	Cursor sessions.Cursor
}

// Error says why the subscription ended.
func (e *EndError) Error() string { return fmt.Sprintf("the subscription ended: %s", e.Reason) }

// End returns e as it is sent.
func (e *EndError) End() End { return End{Reason: e.Reason, Cursor: e.Cursor} }
