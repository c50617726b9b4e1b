package api

import "agenthost/sessions"

// Page sizes of $sessionList and $turns.
const (
	DefaultPageLimit = 50
	MaxPageLimit     = 200
)

// SessionListArgs asks for a page of sessions, newest activity first. Every
// filter that is set must match.
type SessionListArgs struct {
	TargetKey  string `json:"targetKey,omitempty" strict:"nonempty"`
	ProfileKey string `json:"profileKey,omitempty" strict:"nonempty"` // alone it matches every target
	// Owner is whose sessions are meant; "" means the caller's, and
	// sessions.AllOwners everybody's, which only an admin may ask.
	Owner sessions.Owner `json:"owner,omitempty" strict:"nonempty"`
	// Status matches any of the given; nil matches all, closed ones included.
	Status OneOrMany[sessions.Status] `json:"status,omitempty"`
	// ParentID matches that parent's children, null roots, absent all.
	ParentID Nullable[sessions.SessionID] `json:"parentId,omitzero"`
	Label    map[string]string            `json:"label,omitempty"` // all must match
	Limit    *int                         `json:"limit,omitempty"` // 1 to MaxPageLimit, nil DefaultPageLimit
	// Cursor is the NextCursor of the page before, asked with the same filters.
	Cursor string `json:"cursor,omitempty" strict:"nonempty"`
	// ByID and Ascending, for callers within the program, order by ids; see
	// sessions.SessionQuery.
	ByID, Ascending bool `json:"-"`
	// AgentID, for callers within the program, matches sessions made from a saved
	// agent, those made from none if it is "", and all if it is nil.
	AgentID *sessions.AgentID `json:"-"`
	// AnyLabel, for callers within the program, leaves the bounds of Label to them.
	AnyLabel bool `json:"-"`
}

// SessionListResult is one page of sessions.
type SessionListResult struct {
	Sessions   []sessions.Session `json:"sessions"`             // never nil
	NextCursor string             `json:"nextCursor,omitempty"` // "" on the last page
}

// PageLimit returns the page size asked for, or its default.
func (a SessionListArgs) PageLimit() int { return orDefault(a.Limit, DefaultPageLimit) }

// Parent returns the filter by parent as stores know it: nil any, "" roots only.
func (a SessionListArgs) Parent() *sessions.SessionID {
	if a.ParentID.IsZero() {
		return nil
	}
	parent, _ := a.ParentID.Value()
	return new(parent)
}

// Authorize returns FORBIDDEN when an owner other than caller is named, by other
// than an admin.
func (a SessionListArgs) Authorize(caller Caller) error {
	if caller.Admin && a.Owner == sessions.AllOwners {
		return nil
	}
	return authorizeOwner(a.Owner, caller)
}
