package main

import (
	"context"
	"fmt"
	"iter"
	"time"

	"agenthost/oracle"
	"agenthost/oracle/provider"
	"agenthost/sessions"
)

// stepsPerTurn is how often a stepper calls tools in a turn.
const stepsPerTurn = 20

// stepper is a model that calls tools and times its steps: from its call until it
// is asked again, with the results. It serves one turn after the other.
type stepper struct {
	function, args string
	want           string // the output of each call
	calls          int    // a step

	steps  []time.Duration
	called time.Time
	made   int // steps of the turn
}

// Name returns "stepper".
func (*stepper) Name() string { return "stepper" }

// Infer calls the tools, and answers once it has done so often enough.
func (o *stepper) Infer(_ context.Context, r oracle.Request) iter.Seq2[oracle.Part, error] {
	if o.made > 0 {
		o.steps = append(o.steps, time.Since(o.called))
	}
	return func(yield func(oracle.Part, error) bool) {
		if err := o.check(r.Messages); err != nil {
			yield(nil, err)
			return
		}
		parts := []oracle.Part{oracle.TextDelta{Text: "Done."}, oracle.Stop{Reason: oracle.StopDone}}
		if o.made < stepsPerTurn {
			parts = nil
			for i := range o.calls {
				id := sessions.CallID(fmt.Sprintf("call-%d-%d", o.made, i))
				parts = append(parts, oracle.ToolCall{ID: id, Function: o.function, Args: o.args})
			}
			parts = append(parts, oracle.Stop{Reason: oracle.StopCalls})
			o.made++
		} else {
			o.made = 0
		}
		o.called = time.Now()
		for _, part := range parts {
			if !yield(part, nil) {
				return
			}
		}
	}
}

// check returns what is wrong with the results of the step before.
func (o *stepper) check(history []sessions.Message) error {
	if o.made == 0 {
		return nil
	}
	for _, m := range history[len(history)-o.calls:] {
		if m.Role != sessions.RoleTool || provider.ResultText(m) != o.want {
			return fmt.Errorf("the message after a call is %+v", m)
		}
	}
	return nil
}
