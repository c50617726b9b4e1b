package api

import (
	"cmp"

	"agenthost/sessions"
)

// UsageArgs asks what model calls consumed. By owner there is no address but the
// owner's; else it is required.
type UsageArgs struct {
	Address
	By sessions.UsageScope `json:"by,omitempty" strict:"nonempty"` // default sessions.UsageBySession
}

// UsageResult is the answer to UsageArgs. Days are given by owner only, for the
// last UsageDays days.
type UsageResult struct {
	Usage sessions.UsageReport `json:"usage"`
}

// UsageDays is for how many days, today included, an owner's usage is told by day.
const UsageDays = 31

// Scope returns whose usage is summed up, with the default.
func (a UsageArgs) Scope() sessions.UsageScope { return cmp.Or(a.By, sessions.UsageBySession) }

// Validate checks the scope and the address; see Args.
func (a UsageArgs) Validate(sessions.Limits) error {
	err := oneOf("/args/by", a.By, sessions.UsageBySession, sessions.UsageByTree, sessions.UsageByOwner)
	if err != nil || a.By != sessions.UsageByOwner {
		return cmp.Or(err, a.check(true))
	}
	if !a.IsZero() {
		return sessions.InvalidField("/args/by", "The usage of an owner is that of all sessions; leave the session out, or ask by session or tree.")
	}
	return nil
}
