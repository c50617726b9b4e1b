package sessions

import "encoding/json"

// ClientTool is a tool that no host runs: a turn that calls it waits for a client
// to answer the call.
type ClientTool struct {
	Path        string          `json:"path"` // as in the tool tree
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema,omitempty"` // of its arguments, a JSON Schema of an object; nil for any
}

// CallAnswer is what a client gives to a call that waits for it. Exactly one of
// its fields is set.
type CallAnswer struct {
	Output  json.RawMessage `json:"output,omitempty"`  // what the client's tool gave, any JSON value without spaces between its parts
	Error   *string         `json:"error,omitempty"`   // why it gave nothing, for the model
	Approve *bool           `json:"approve,omitempty"` // whether the tool may run
}

// Answers reports whether a is of the kind that a call waits for.
func (a CallAnswer) Answers(kind PendingKind) bool {
	if kind == PendingApproval {
		return a.Approve != nil
	}
	return a.Approve == nil
}

// AnswerCall stores the answer to a call that waits.
type AnswerCall struct {
	Owner  Owner
	At     Address
	CallID CallID
	Answer CallAnswer
	Now    Time
}

// AnsweredCall is the answer to AnswerCall.
type AnsweredCall struct {
	Session Session // with the calls that still wait as its Pending
	TurnID  TurnID
	Repeat  bool    // the same answer was stored before
	Frames  []Frame // those stored: answered, unless it is a repeat
}

// WaitedCalls is what a turn waits for.
type WaitedCalls struct {
	Pending []Pending // answered or not, in call order
	Answers map[CallID]CallAnswer
}

// Answered reports whether no call waits any more.
func (w WaitedCalls) Answered() bool { return len(w.Answers) == len(w.Pending) }
