// Package oracle is the inference port: how the host asks a model for the next
// message of a conversation. Adapters live below it, one folder a provider.
//
// An adapter owns its client and its retries; it keeps nothing of a
// conversation between calls. Infer may be called from many goroutines at once.
package oracle

import (
	"context"
	"encoding/json"
	"iter"

	"agenthost/sessions"
)

// Oracle makes model calls.
type Oracle interface {
	// Name describes the oracle to people, such as "openai:gpt-5" or "offline".
	Name() string
	// Infer makes one model call and yields its parts as they arrive: text
	// deltas and tool calls in the model's order, usage, and a Stop last. On an
	// error it yields it once, with a nil part, and ends; parts yielded before
	// stand. Breaking off the loop or ending ctx ends the call. Errors are
	// LLM_API_FAILURE with the provider's text as cause only, or ctx's error. One of
	// a request that the model's context window does not take is made by Overflow.
	Infer(ctx context.Context, r Request) iter.Seq2[Part, error]
}

// Request is the whole input of one model call.
type Request struct {
	System   string
	Messages []sessions.Message
	Tools    []Tool          // in the order of their paths
	Params   sessions.Params // an adapter leaves out what its provider does not have
	// Schema is the JSON Schema of an object that the text of the answer must
	// hold, nil for free text. The provider enforces it, or refuses the call if it
	// cannot.
	Schema json.RawMessage
}

// Tool is a tool as a model sees it.
type Tool struct {
	Path        string // where it is mounted
	Name        string // the function name derived from Path, unique in a request
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments, an object
}

// Part is one piece of a model's answer. The set is closed.
type Part interface{ part() }

type (
	// TextDelta is more text of the answer.
	TextDelta struct{ Text string }
	// ToolCall is a complete wish to run a tool. Function is the tool's name as
	// the model gave it: a Tool's Name or its Path; it may name no tool of the
	// request. Args is what the model wrote, which may be no valid JSON. ID is
	// never empty and unique within the answer.
	ToolCall struct {
		ID       sessions.CallID
		Function string
		Args     string
	}
	// UsageReport says what the call consumed. At most one comes per call.
	UsageReport struct{ Usage sessions.Usage }
	// Stop ends the answer.
	Stop struct{ Reason StopReason }
)

func (TextDelta) part()   {}
func (ToolCall) part()    {}
func (UsageReport) part() {}
func (Stop) part()        {}

// StopReason says why a model ended its answer.
type StopReason string

// The reasons. An answer that the model refused to give, or that a limit cut
// short, is still an answer: its text is kept as it came.
const (
	StopDone    StopReason = "done"
	StopCalls   StopReason = "tool_calls"
	StopLength  StopReason = "length"
	StopRefusal StopReason = "refusal"
)
