package api

import "agenthost/sessions"

// PurgeArgs asks for the last bytes of what was deleted to be removed.
type PurgeArgs struct {
	adminOnly
	// DryRun means to change nothing, and to say how large the store is and where.
	DryRun bool `json:"dryRun,omitempty"`
}

// PurgeResult says what was done.
type PurgeResult struct{ sessions.Compaction }

// Validate returns nil: there is nothing to check.
func (PurgeArgs) Validate(sessions.Limits) error { return nil }
