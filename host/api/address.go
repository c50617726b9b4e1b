package api

import (
	"cmp"

	"agenthost/sessions"
)

// Address names a session on the wire: by SessionID, or by TargetKey with
// ProfileKey ("" means sessions.DefaultProfile). Never both, except to create.
type Address struct {
	SessionID  sessions.SessionID `json:"sessionId,omitempty" strict:"nonempty"`
	TargetKey  string             `json:"targetKey,omitempty" strict:"nonempty"`
	ProfileKey string             `json:"profileKey,omitempty" strict:"nonempty"`
	// Owner is whose session is meant; "" means the caller's.
	Owner sessions.Owner `json:"owner,omitempty" strict:"nonempty"`
}

// IsZero reports whether no session is named.
func (a Address) IsZero() bool {
	return a.SessionID == "" && a.TargetKey == "" && a.ProfileKey == ""
}

// At returns the address as stores know it, with the profile key defaulted.
func (a Address) At() sessions.Address {
	at := sessions.Address{ID: a.SessionID}
	if a.TargetKey != "" {
		at.Key = sessions.Key{Target: a.TargetKey, Profile: a.Profile()}
	}
	return at
}

// Profile returns the profile key, sessions.DefaultProfile when none is given.
func (a Address) Profile() string {
	return cmp.Or(a.ProfileKey, sessions.DefaultProfile)
}

// Authorize returns FORBIDDEN when an owner other than caller is named, by other
// than an admin.
func (a Address) Authorize(caller Caller) error { return authorizeOwner(a.Owner, caller) }

func authorizeOwner(named sessions.Owner, caller Caller) error {
	if named == "" || named == caller.Owner {
		return nil
	}
	if caller.Admin {
		return sessions.CheckOwner("/args/owner", named)
	}
	return sessions.Errorf(sessions.CodeForbidden, "This key may not act for another owner; leave owner out.").
		With("field", "/args/owner")
}

// ownerless is embedded by arguments that cannot name an owner.
type ownerless struct{}

// Authorize returns nil: the operation cannot name another owner.
func (ownerless) Authorize(Caller) error { return nil }
