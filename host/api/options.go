package api

import (
	"slices"

	"agenthost/sessions"
)

// Wait says how long a call of a turn waits for its reply.
type Wait string

// The ways to wait. "" means WaitDone.
const (
	WaitDone     Wait = "done"     // until the turn is terminal
	WaitPending  Wait = "pending"  // until it is terminal or waits for a client
	WaitAccepted Wait = "accepted" // until it is durably accepted
)

// Order is the direction of a page. "" means Ascending.
type Order string

// The directions.
const (
	Ascending  Order = "asc"  // oldest first
	Descending Order = "desc" // newest first
)

// IfBusy says what a delete does to a session with a turn that is not terminal.
type IfBusy string

// The choices. "" means IfBusyCancel.
const (
	IfBusyCancel IfBusy = "cancel" // its callers get SESSION_DELETED
	IfBusyReject IfBusy = "reject" // answer CONFLICT and change nothing
)

// Teardown says that a removal goes on after its answer. "" means it is done.
type Teardown string

// TeardownPending: the rest is removed in the background, also after a crash.
const TeardownPending Teardown = "pending"

// oneOf returns INVALID_REQUEST about field unless value is "" or a choice.
func oneOf[T ~string](field string, value T, choices ...T) error {
	if value == "" {
		return nil
	}
	return exactlyOneOf(field, value, choices...)
}

// exactlyOneOf returns INVALID_REQUEST about field unless value is a choice.
func exactlyOneOf[T ~string](field string, value T, choices ...T) error {
	if slices.Contains(choices, value) {
		return nil
	}
	return sessions.InvalidField(field, "The value must be one of %s.", listed(choices))
}
