package sessions

import "encoding/json"

// AgentID names a saved agent of one owner. The ids that a host gives grow with
// time, and none is given twice.
type AgentID string

// SavedAgent is what an owner has saved to make sessions from. It is configuration,
// as keys are: sessions that were made from it know its id and nothing more, and no
// delete or clear of sessions touches it.
type SavedAgent struct {
	ID      AgentID
	Owner   Owner
	Name    string // for people, "" for none
	Profile string // that sessions made from it run on
	// Settings are what it asks for beyond the profile: JSON of whoever saved it, in
	// which nobody else looks.
	Settings  json.RawMessage
	Metadata  map[string]string // never nil
	CreatedAt Time
	UpdatedAt Time
	Version   int64 // 1 at first, and one more after each change
}

// CreateAgent saves an agent.
type CreateAgent struct {
	Agent   SavedAgent // its UpdatedAt and Version are set by the store
	Most    int        // agents that its owner may have, this one included
	Request *Request   // nil when the client may not ask again
}

// CreatedAgent is the answer to CreateAgent.
type CreatedAgent struct {
	Agent   SavedAgent
	Created bool
}

// DeleteAgent asks for the end of a saved agent.
type DeleteAgent struct {
	Owner       Owner
	ID          AgentID
	TombstoneMs int64 // how long it is known that there was one, in milliseconds
	Now         Time
}

// AgentQuery asks for a page of an owner's saved agents.
type AgentQuery struct {
	Owner     Owner
	After     AgentID // "" for the start; there need not be one with this id
	Ascending bool    // by id; else descending, which is the newest first
	Limit     int     // how many at most; 1 or more
}

// The answers about saved agents.
var (
	ErrNoAgent      = Errorf(CodeNotFound, "There is no saved agent with this id.")
	ErrAgentChanged = Errorf(CodeConflict, "The saved agent was changed since it was read; read it and try again.")
)

// TooManyAgents refuses to save one more agent than the owner may have.
func TooManyAgents(most int) *Error {
	return TooLarge("savedAgents", int64(most), "The owner has as many saved agents as the limit of %d; delete one first.", most)
}
