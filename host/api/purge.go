package api

import "agenthost/sessions"

// PurgeArgs asks for the last bytes of what was deleted to be removed.
type PurgeArgs struct {
	// DryRun means to change nothing, and to say how large the store is and where.
	DryRun bool `json:"dryRun,omitempty"`
}

// PurgeResult says what was done.
type PurgeResult struct{ sessions.Compaction }

// Validate returns nil: there is nothing to check.
func (PurgeArgs) Validate(sessions.Limits) error { return nil }

// Authorize returns FORBIDDEN for other than an admin, and than the owner of a
// host that has no other: the store is everyone's, and every write waits for it.
func (PurgeArgs) Authorize(caller Caller) error {
	if caller.Admin || caller.Owner == sessions.LocalOwner {
		return nil
	}
	return sessions.Errorf(sessions.CodeForbidden, "Only an admin may purge the store, since it is that of all owners.")
}
