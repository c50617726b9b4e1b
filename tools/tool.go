package tools

import (
	"context"
	"encoding/json"

	"agenthost/sessions"
)

// Tool is something a model can call.
type Tool interface {
	// Spec describes the tool. It is read once, when the tool is mounted.
	Spec() Spec
	// Invoke runs one call whose arguments satisfy the schema, and returns its
	// output, a JSON value. An error's text is logged and never shown; to tell
	// the model something, return a *Failure. Invoke must return soon after ctx
	// ends. It may be called from many goroutines at once, and may panic: the
	// call then fails, nothing else.
	Invoke(ctx context.Context, call Call) (json.RawMessage, error)
}

// Spec is what a tool says about itself.
type Spec struct {
	Description string
	// Schema is the JSON Schema of the arguments; nil accepts any object.
	Schema json.RawMessage
	// Repeatable says that running a call a second time does no harm, as may
	// happen after a crash.
	Repeatable bool
}

// Call is one call as a tool sees it.
type Call struct {
	Owner     sessions.Owner
	SessionID sessions.SessionID
	TurnID    sessions.TurnID
	CallID    sessions.CallID
	Path      string
	Args      json.RawMessage // a JSON object
}

// Failure is an error whose text the tool's author has written for the model.
type Failure struct{ Message string }

// Error returns the message.
func (f *Failure) Error() string { return f.Message }
