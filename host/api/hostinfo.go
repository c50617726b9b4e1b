package api

import "agenthost/sessions"

// PingArgs asks whether the host answers.
type PingArgs struct{ ownerless }

// PingResult is the answer to PingArgs.
type PingResult struct {
	Time sessions.Time `json:"time"` // the host's clock
}

// HostInfoArgs asks what the host is.
type HostInfoArgs struct{ ownerless }

// HostInfoResult describes the host. The counts are of the whole host for an admin,
// else of the caller's owner.
type HostInfoResult struct {
	Version          string        `json:"version"`
	InstanceID       string        `json:"instanceId"` // another one after each start
	PID              int           `json:"pid"`        // of its process, as its machine numbers them
	StartedAt        sessions.Time `json:"startedAt"`
	Store            string        `json:"store"`      // such as "sqlite:agenthost.db", without secrets
	Durability       string        `json:"durability"` // "power" or "process"
	Oracle           string        `json:"oracle"`     // the default profile's
	ResidentSessions int64         `json:"residentSessions"`
	ActiveTurns      int64         `json:"activeTurns"`
	// Retention is nil when the host removes no sessions by itself, and for other
	// than an admin.
	Retention *RetentionStats `json:"retention,omitempty"`
}

// RetentionStats counts what retention has done since the host's start.
type RetentionStats struct {
	Sweeps   int64 `json:"sweeps"`
	Trees    int64 `json:"trees"`    // removed
	Sessions int64 `json:"sessions"` // removed with them
	Kept     int64 `json:"kept"`     // times that a tree named by a rule was left alone
	Failures int64 `json:"failures"` // sweeps that the store cut short
}

// Validate returns nil: there is nothing to check.
func (PingArgs) Validate(sessions.Limits) error { return nil }

// Validate returns nil: there is nothing to check.
func (HostInfoArgs) Validate(sessions.Limits) error { return nil }
