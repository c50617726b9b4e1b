package api

import (
	"encoding/json"

	"agenthost/sessions"
)

// SessionSeedArgs appends a synthetic transcript to an idle session, or to a
// new one when the address has none.
type SessionSeedArgs struct {
	Address
	Messages  []SeedMessage              `json:"messages"`        // at least one
	State     map[string]json.RawMessage `json:"state,omitempty"` // by name; each value is kept byte-exact
	RequestID sessions.RequestID         `json:"requestId,omitempty" strict:"nonempty"`
}

// SeedMessage is a message without what the host gives it: seq, turn and time.
type SeedMessage struct {
	Role    sessions.Role      `json:"role"`
	Content []sessions.Content `json:"content,omitempty"`
	// ToolCalls are made by an assistant message; the tool messages that follow
	// it give each exactly one result.
	ToolCalls  []sessions.ToolCall `json:"toolCalls,omitempty"`
	ToolCallID sessions.CallID     `json:"toolCallId,omitempty" strict:"nonempty"` // the call a tool message answers
	// Error is, in a tool message, why the call gave no output.
	Error *sessions.ErrorInfo `json:"error,omitempty"`
	// Interrupted marks an assistant message cut short.
	Interrupted bool `json:"interrupted,omitempty"`
}

// SessionSeedResult is the session with how many messages it was given.
type SessionSeedResult struct {
	Session  sessions.Session `json:"session"`
	Appended int              `json:"appended"`
}

// SessionMessages returns the transcript as sessions knows it.
func (a SessionSeedArgs) SessionMessages() []sessions.Message {
	messages := make([]sessions.Message, len(a.Messages))
	for i, m := range a.Messages {
		messages[i] = sessions.Message{Role: m.Role, Content: m.Content, ToolCalls: m.ToolCalls,
			ToolCallID: m.ToolCallID, Error: m.Error, Interrupted: m.Interrupted}
	}
	return messages
}
