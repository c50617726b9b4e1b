package api

import (
	"cmp"

	"agenthost/sessions"
)

// SessionCloseArgs closes a session: it keeps its key and its content, and
// refuses what would add to it. A running turn is cancelled.
type SessionCloseArgs struct {
	Address
	Reason string `json:"reason,omitempty"` // kept as closedReason; at most the titleBytes limit
}

// SessionCloseResult is the closed session. A session that was closed before is
// unchanged.
type SessionCloseResult struct {
	Session sessions.Session `json:"session"`
}

// SessionDetachArgs frees a session from its running turn, which ends
// interrupted, so that it takes prompts at once.
type SessionDetachArgs struct{ Address }

// SessionDetachResult is the session afterwards.
type SessionDetachResult struct {
	Session sessions.Session `json:"session"`
}

// Validate checks the address and the reason; see Args.
func (a SessionCloseArgs) Validate(limits sessions.Limits) error {
	if len(a.Reason) > limits.TitleBytes {
		return sessions.TooLarge("titleBytes", int64(limits.TitleBytes),
			"The reason has %d bytes, more than the limit of %d.", len(a.Reason), limits.TitleBytes).With("field", "/args/reason")
	}
	return cmp.Or(a.check(true), checkText("/args/reason", a.Reason))
}

// Validate checks the address; see Args.
func (a SessionDetachArgs) Validate(sessions.Limits) error { return a.check(true) }
