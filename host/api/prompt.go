package api

import (
	"cmp"
	"encoding/json"

	"agenthost/sessions"
)

// PromptArgs asks for the execution of a prompt. Exactly one of Text and
// Content is set.
type PromptArgs struct {
	Address
	Text    string             `json:"text,omitempty" strict:"nonempty"` // short for one text part
	Content []sessions.Content `json:"content,omitempty"`
	// RequestID makes the prompt safe to repeat; "" lets the host make one.
	RequestID sessions.RequestID `json:"requestId,omitempty" strict:"nonempty"`
	// Busy is the policy when the session is busy; "" means sessions.BusyReject.
	Busy sessions.BusyPolicy `json:"busy,omitempty" strict:"nonempty"`
	Wait Wait                `json:"wait,omitempty" strict:"nonempty"`
	// Stream asks for the turn's frames before the reply.
	Stream bool `json:"stream,omitempty"`
	// MaxIterations bounds the turn's model calls; 1 or more, nil the profile's.
	MaxIterations *int `json:"maxIterations,omitempty"`
	// PromptTimeoutMs bounds the turn's time from its start, in milliseconds; 1
	// or more, nil the profile's.
	PromptTimeoutMs *int64 `json:"promptTimeoutMs,omitempty"`
	// Params tune the model's answers; what they do not set is the profile's.
	Params *sessions.Params `json:"params,omitempty"`
	// AnswerSchema is the JSON Schema of the object that every answer of the turn
	// must hold; nil means the profile's.
	AnswerSchema json.RawMessage `json:"answerSchema,omitempty"`
	// ClientTools are tools of this turn that a client runs: a call of one makes the
	// turn wait for AnswerArgs. They take the place of the profile's at the same path.
	ClientTools []sessions.ClientTool `json:"clientTools,omitempty"`
	// Instructions is for callers within the program: what is put behind the
	// profile's system prompt.
	Instructions string `json:"-"`
}

// Inference returns what the prompt asks of models.
func (a PromptArgs) Inference() sessions.Inference {
	asked := sessions.Inference{AnswerSchema: a.AnswerSchema, ClientTools: a.ClientTools, Instructions: a.Instructions}
	if a.Params != nil {
		asked.Params = *a.Params
	}
	return asked
}

// Parts returns the prompt's content, Text being one text part.
func (a PromptArgs) Parts() []sessions.Content {
	if a.Text != "" {
		return sessions.Text(a.Text)
	}
	return a.Content
}

// WaitFor returns the wait asked for, or its default.
func (a PromptArgs) WaitFor() Wait { return cmp.Or(a.Wait, WaitDone) }

// PromptStatus is how far the turn was when the reply was given.
type PromptStatus string

// The states a reply can give. Other ends of a turn are errors.
const (
	PromptAccepted  PromptStatus = "accepted"  // durably accepted, to wait:"accepted" only
	PromptWaiting   PromptStatus = "waiting"   // waits for a client, to wait:"pending" only
	PromptCompleted PromptStatus = "completed" // ended with an answer
)

// PromptResult is the reply to a prompt whose turn did not fail.
type PromptResult struct {
	SessionID sessions.SessionID `json:"sessionId"`
	RequestID sessions.RequestID `json:"requestId"`
	TurnID    sessions.TurnID    `json:"turnId"`
	Status    PromptStatus       `json:"status"`
	Duplicate bool               `json:"duplicate"` // the turn had been asked for before
	// Message is the answer; nil unless completed.
	Message    *sessions.Message  `json:"message,omitempty"`
	Pending    []sessions.Pending `json:"pending,omitempty"` // what a waiting turn waits for
	Iterations int                `json:"iterations"`        // model calls made; not sent when accepted
	Usage      sessions.Usage     `json:"usage"`             // not sent when accepted
	// Cursor is where to subscribe to see the rest; set when accepted.
	Cursor sessions.Cursor `json:"cursor,omitempty"`
}

// acceptedResult is what is known of a turn that was only accepted.
type acceptedResult struct {
	SessionID sessions.SessionID `json:"sessionId"`
	RequestID sessions.RequestID `json:"requestId"`
	TurnID    sessions.TurnID    `json:"turnId"`
	Status    PromptStatus       `json:"status"`
	Duplicate bool               `json:"duplicate"`
	Cursor    sessions.Cursor    `json:"cursor"`
}

// MarshalJSON writes the fields that the status has.
func (r PromptResult) MarshalJSON() ([]byte, error) {
	if r.Status == PromptAccepted {
		return json.Marshal(acceptedResult{r.SessionID, r.RequestID, r.TurnID, r.Status, r.Duplicate, r.Cursor})
	}
	type plain PromptResult
	return json.Marshal(plain(r))
}
