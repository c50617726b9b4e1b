package api

import "agenthost/sessions"

// CancelArgs asks for the end of a session's active turn, or of the turn or
// queued prompt that RequestID names, or of its side question.
type CancelArgs struct {
	Address
	RequestID    sessions.RequestID `json:"requestId,omitempty" strict:"nonempty"`
	SideQuestion bool               `json:"sideQuestion,omitempty"` // not together with RequestID
}

// CancelResult says whether something was cancelled; false when it was unknown
// or had ended.
type CancelResult struct {
	Cancelled bool `json:"cancelled"`
}
