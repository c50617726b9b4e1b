package api

import (
	"cmp"
	"encoding/json"

	"agenthost/sessions"
)

// StateSetArgs stores one named value of a session, or removes it.
type StateSetArgs struct {
	Address
	Name string `json:"name"`
	// Value is kept byte-exact; null removes the stored one. It must be given.
	Value Nullable[json.RawMessage] `json:"value,omitzero"`
	// IfVersion lets the value be stored only over this version of it; 0 means
	// only if there is none.
	IfVersion *int64 `json:"ifVersion,omitempty"`
}

// StateSetResult says which version the value has now.
type StateSetResult struct {
	Version int64 `json:"version"`
}

// Raw returns the value, nil to remove it.
func (a StateSetArgs) Raw() json.RawMessage {
	value, _ := a.Value.Value()
	return value
}

// Validate checks the name, the value and the version; see Args.
func (a StateSetArgs) Validate(limits sessions.Limits) error {
	if a.Value.IsZero() {
		return sessions.InvalidField("/args/value", "A value is needed; null removes the stored one.")
	}
	if size := int64(len(a.Raw())); size > limits.StateBytes {
		return sessions.TooLarge("stateBytes", limits.StateBytes,
			"The value has %d bytes, more than the limit of %d.", size, limits.StateBytes).With("field", "/args/value")
	}
	var raw error
	if value := a.Raw(); value != nil {
		raw = checkRaw("/args/value", value)
	}
	return cmp.Or(a.check(true), checkName("/args/name", a.Name), raw,
		checkAtLeast("/args/ifVersion", "ifVersion", a.IfVersion, 0))
}
