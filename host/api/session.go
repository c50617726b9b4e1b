package api

import "agenthost/sessions"

// SessionCreateArgs asks for a session. Unlike elsewhere the address may give
// both an id and a key, or neither: then the host makes an id. With an id and no
// target key, ProfileKey is the profile of the keyless session.
type SessionCreateArgs struct {
	Address
	Title          string             `json:"title,omitempty"`
	Labels         map[string]string  `json:"labels,omitempty"`
	ParentID       sessions.SessionID `json:"parentId,omitempty" strict:"nonempty"`
	ParentLocation sessions.Location  `json:"parentLocation,omitempty" strict:"nonempty"` // set exactly when ParentID is
	RequestID      sessions.RequestID `json:"requestId,omitempty" strict:"nonempty"`
}

// SessionCreateResult is the session made or found.
type SessionCreateResult struct {
	Session sessions.Session `json:"session"`
	Created bool             `json:"created"` // false: it existed and is unchanged
}

// SessionGetArgs asks for one session.
type SessionGetArgs struct{ Address }

// SessionGetResult is the answer to SessionGetArgs.
type SessionGetResult struct {
	Session sessions.Session `json:"session"`
}

// SessionUpdateArgs changes a session's title, labels or both; at least one is
// given.
type SessionUpdateArgs struct {
	Address
	Title *string `json:"title,omitempty"` // nil leaves it, "" clears it
	// Labels replace the stored ones; nil leaves them, an empty map clears them.
	Labels map[string]string `json:"labels,omitzero"`
}

// SessionUpdateResult is the session as it is after the change.
type SessionUpdateResult struct {
	Session sessions.Session `json:"session"`
}
