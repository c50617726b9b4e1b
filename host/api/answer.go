package api

import (
	"cmp"
	"encoding/json"

	"agenthost/sessions"
)

// AnswerArgs gives a client's answer to a call that waits for one. Exactly one of
// Output, Error and Approve is set.
type AnswerArgs struct {
	Address
	CallID sessions.CallID `json:"callId"`
	// Output is what the client's tool gave: any JSON value but null.
	Output json.RawMessage `json:"output,omitempty"`
	// Error is why it gave nothing, for the model.
	Error *string `json:"error,omitempty"`
	// Approve says whether the tool may run.
	Approve *bool `json:"approve,omitempty"`
}

// AnswerResult says that the answer is stored.
type AnswerResult struct {
	Accepted bool `json:"accepted"`
}

// CallAnswer is the answer as it is stored.
func (a AnswerArgs) CallAnswer() sessions.CallAnswer {
	return sessions.CallAnswer{Output: a.Output, Error: a.Error, Approve: a.Approve}
}

// Validate checks that one call gets one answer; see Args.
func (a AnswerArgs) Validate(limits sessions.Limits) error {
	if err := cmp.Or(a.check(true), checkCallID("/args/callId", a.CallID)); err != nil {
		return err
	}
	given := 0
	for _, set := range []bool{a.Output != nil, a.Error != nil, a.Approve != nil} {
		if set {
			given++
		}
	}
	if given != 1 {
		return sessions.InvalidField("/args", "An answer has exactly one of output, error and approve; this one has %d.", given)
	}
	if a.Output != nil {
		if err := checkRaw("/args/output", a.Output); err != nil {
			return err
		}
	}
	return cmp.Or(
		checkAnswerSize("/args/output", len(a.Output), limits),
		checkAnswerSize("/args/error", len(orDefault(a.Error, "")), limits),
	)
}

// checkAnswerSize holds an answer to the bound of a tool's result, which it is.
func checkAnswerSize(field string, size int, limits sessions.Limits) error {
	if int64(size) > limits.ToolResultBytes {
		return sessions.TooLarge("toolResultBytes", limits.ToolResultBytes,
			"The answer has %d bytes, more than the limit of %d.", size, limits.ToolResultBytes).With("field", field)
	}
	return nil
}
