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
	// the model something, return a *Failure, or a *sessions.Error of
	// TOOL_INVOKE_FAILED, STORE_UNAVAILABLE or SUBAGENT_LOST, whose code the call
	// then gets. Invoke must return soon after ctx ends; context.Cause then says
	// why the turn ended, HOST_STOPPING if it goes on at the host's next start. It
	// may be called from many goroutines at once, and may panic: the call then
	// fails, nothing else.
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
	// TurnBound says that a call may take as long as its turn. The time that a
	// profile gives to calls does not bound it.
	TurnBound bool
	// InOrder says that the calls of one step run one after the other, in call
	// order. Each finds the state that those before it have set.
	InOrder bool
	// NeedsApproval says that a call runs only once a client has approved it. The
	// turn waits for that.
	NeedsApproval bool
	// ClientSide says that a client runs the calls, and Invoke is never called. The
	// turn waits for what the client gives.
	ClientSide bool
}

// Call is one call as a tool sees it.
type Call struct {
	Owner     sessions.Owner
	SessionID sessions.SessionID
	TurnID    sessions.TurnID
	CallID    sessions.CallID
	Path      string
	Args      json.RawMessage // a JSON object
	Turn      Turn            // what the call belongs to; nil in a call made by hand
}

// Turn is the turn that a call belongs to, as a tool may use it. It is safe for
// concurrent use. A host may offer more: a tool that needs it declares an
// interface, and asks whether the Turn has it.
type Turn interface {
	// Life is the life of the turn's session.
	Life() sessions.Incarnation
	// State returns a named value of the session's state, and whether there is
	// one: what this call has set, else what a call of this tool before it in the
	// step has, if they run InOrder, else what is stored. Version and UpdatedAt are
	// those of the stored value. It waits while the store is not available.
	State(ctx context.Context, name string) (sessions.StateValue, bool, error)
	// SetState sets a named value of the session's state, any JSON but null. It is
	// stored with the results of the step, in one transaction, if the call gives
	// an output. A call that fails has set nothing, and neither has a step that the
	// turn does not finish; one that waits for clients has finished the calls before
	// that. When calls of one step set the same name, the last in
	// call order counts. It keeps no reference to value. Codes: INVALID_REQUEST,
	// PAYLOAD_TOO_LARGE (stateBytes), CONFLICT when the call has ended.
	SetState(name string, value json.RawMessage) error
	// Refs keeps the records of the session's sub-sessions.
	Refs() sessions.RefStore
	// ChildChanged shows that a sub-session was started or is in another state. It
	// returns once that is stored, or with an error when the turn has ended. A
	// repetition of what it was told last of the sub-session is stored once.
	ChildChanged(c sessions.ChildChanged) error
	// AddUsage adds to the usage of the session and its owner what the call consumed,
	// under a kind of the tool's own, such as "search", and the name of what
	// consumed it, "" for none. It is stored at once, whatever becomes of the call,
	// and counts again when the call is run again. INVALID_REQUEST when the kind
	// is no name or the host's own, CONFLICT when the session is deleted.
	AddUsage(ctx context.Context, kind sessions.UsageKind, model string, u sessions.Usage) error
	// Beside runs f in a goroutine beside the session's turns, so that it may
	// outlive this one, and keeps the session in memory meanwhile. The context of f
	// ends, with its cause, when a turn of the session is cancelled, when the
	// session is closed or deleted, and when the host stops.
	Beside(f func(ctx context.Context))
}

// Failure is an error whose text the tool's author has written for the model.
type Failure struct{ Message string }

// Error returns the message.
func (f *Failure) Error() string { return f.Message }
