package api

import "agenthost/sessions"

// How long a delete's answer waits for the removal, in milliseconds.
const (
	DefaultDeleteGraceMs = 5_000
	MaxDeleteGraceMs     = 60_000
)

// SessionDeleteArgs asks for the end of a session, and by default of all below it.
type SessionDeleteArgs struct {
	Address
	IfBusy   IfBusy               `json:"ifBusy,omitempty" strict:"nonempty"`
	Children sessions.ChildPolicy `json:"children,omitempty" strict:"nonempty"`
	// DeleteGraceMs is how long the answer waits for the removal to be done: 0 to
	// MaxDeleteGraceMs milliseconds, nil DefaultDeleteGraceMs.
	DeleteGraceMs *int64 `json:"deleteGraceMs,omitempty"`
	// OnlySettled, for callers within the program, refuses the delete while a turn
	// of the session itself has not ended, whatever those below it do.
	OnlySettled bool `json:"-"`
}

// SessionDeleteResult says what was removed.
type SessionDeleteResult struct {
	Deleted  bool              `json:"deleted"` // false: there was no such session
	Receipt  *sessions.Receipt `json:"receipt,omitempty"`
	Teardown Teardown          `json:"teardown,omitempty"`
}

// GraceMs returns the wait asked for, or its default, in milliseconds.
func (a SessionDeleteArgs) GraceMs() int64 { return orDefault(a.DeleteGraceMs, DefaultDeleteGraceMs) }

// SessionClearAllArgs asks for the end of every session of the caller's owner.
type SessionClearAllArgs struct {
	// AllOwners means the sessions of every owner, which only an admin may ask.
	AllOwners bool `json:"allOwners,omitempty"`
}

// Authorize returns FORBIDDEN when AllOwners is asked by other than an admin.
func (a SessionClearAllArgs) Authorize(caller Caller) error {
	if a.AllOwners && !caller.Admin {
		return sessions.Errorf(sessions.CodeForbidden, "Only an admin may clear the sessions of all owners; leave allOwners out.").
			With("field", "/args/allOwners")
	}
	return nil
}

// SessionClearAllResult says what was removed.
type SessionClearAllResult struct {
	Receipt  sessions.Receipt `json:"receipt"`
	Teardown Teardown         `json:"teardown,omitempty"`
}
