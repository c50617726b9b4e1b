package api

import (
	"cmp"

	"agenthost/sessions"
)

// MaxKeyRate bounds the requests a second, and at once, that a key can be bound to.
const MaxKeyRate = 1_000_000

// KeyCreateArgs asks for a new key.
type KeyCreateArgs struct {
	adminOnly
	Owner sessions.Owner   `json:"owner"`                            // whose sessions the key is for
	Role  sessions.KeyRole `json:"role,omitempty" strict:"nonempty"` // "" means sessions.KeyOfUser
	Name  string           `json:"name,omitempty"`                   // for people; at most titleBytes
	// PerSecond is how many requests a second the key may make, nil without a bound,
	// and Burst how many at once, nil as many as PerSecond.
	PerSecond *int `json:"perSecond,omitempty"`
	Burst     *int `json:"burst,omitempty"`
}

// KeyCreateResult is the new key. Its secret is shown this once.
type KeyCreateResult struct {
	Key    KeyInfo `json:"key"`
	Secret string  `json:"secret"`
}

// KeyListArgs asks for all keys there ever were.
type KeyListArgs struct{ adminOnly }

// KeyListResult is all keys, oldest first.
type KeyListResult struct {
	Keys []KeyInfo `json:"keys"` // never nil
}

// KeyRevokeArgs asks for the end of a key.
type KeyRevokeArgs struct {
	adminOnly
	KeyID sessions.KeyID `json:"keyId"`
}

// KeyRevokeResult is the key, revoked now or before.
type KeyRevokeResult struct {
	Key KeyInfo `json:"key"`
}

// KeyInfo is a key, and when it was used last.
type KeyInfo struct {
	sessions.AccessKey
	// LastUsedAt is 0 when the key was not used since the host's start.
	LastUsedAt sessions.Time `json:"lastUsedAt,omitzero"`
}

// Validate checks owner, role, name and rates; see Args.
func (a KeyCreateArgs) Validate(limits sessions.Limits) error {
	if a.Burst != nil && a.PerSecond == nil {
		return sessions.InvalidField("/args/burst", "A burst needs perSecond beside it.")
	}
	if len(a.Name) > limits.TitleBytes {
		return sessions.TooLarge("titleBytes", int64(limits.TitleBytes),
			"The name has %d bytes, more than the limit of %d.", len(a.Name), limits.TitleBytes).With("field", "/args/name")
	}
	return cmp.Or(
		sessions.CheckOwner("/args/owner", a.Owner),
		oneOf("/args/role", a.Role, sessions.KeyOfUser, sessions.KeyOfAdmin),
		checkText("/args/name", a.Name),
		checkRange("/args/perSecond", "perSecond", a.PerSecond, 1, MaxKeyRate),
		checkRange("/args/burst", "burst", a.Burst, 1, MaxKeyRate),
	)
}

// RoleOrUser returns the role asked for, or its default.
func (a KeyCreateArgs) RoleOrUser() sessions.KeyRole { return cmp.Or(a.Role, sessions.KeyOfUser) }

// Rate returns requests a second and at once, 0 without a bound.
func (a KeyCreateArgs) Rate() (perSecond, burst int) {
	perSecond = orDefault(a.PerSecond, 0)
	return perSecond, orDefault(a.Burst, perSecond)
}

// Validate returns nil: there is nothing to check.
func (KeyListArgs) Validate(sessions.Limits) error { return nil }

// Validate checks that there is an id; see Args.
func (a KeyRevokeArgs) Validate(sessions.Limits) error {
	return checkName("/args/keyId", string(a.KeyID))
}

// adminOnly is embedded by arguments of what only an admin may do.
type adminOnly struct{}

// Authorize returns FORBIDDEN for other than an admin.
func (adminOnly) Authorize(caller Caller) error {
	if caller.Admin {
		return nil
	}
	return sessions.Errorf(sessions.CodeForbidden, "Only an admin may do this, since it concerns all owners.")
}
