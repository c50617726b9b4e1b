package api

import "agenthost/sessions"

// ChildrenArgs asks for the sub-sessions that a session has a record of.
type ChildrenArgs struct{ Address }

// ChildrenResult lists them, oldest first. The status of a local one is its
// session's; that of a remote one is what was heard last.
type ChildrenResult struct {
	Refs []sessions.Ref `json:"refs"` // never nil
}

// Validate checks the address; see Args.
func (a ChildrenArgs) Validate(sessions.Limits) error { return a.check(true) }
