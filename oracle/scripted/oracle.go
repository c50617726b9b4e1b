package scripted

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"agenthost/oracle"
	"agenthost/sessions"
)

// Oracle plays a Script.
type Oracle struct {
	script Script
	played atomic.Int64 // calls answered by script.Steps
}

// New returns an oracle that answers its n-th call with the n-th step.
func New(steps ...Step) *Oracle { return Play(Script{Steps: steps}) }

// Play returns an oracle that plays script, which must not be changed afterwards.
func Play(script Script) *Oracle { return &Oracle{script: script} }

// Name returns "scripted".
func (*Oracle) Name() string { return "scripted" }

// Infer plays the step that is due. A script that has none left fails the call.
func (o *Oracle) Infer(ctx context.Context, r oracle.Request) iter.Seq2[oracle.Part, error] {
	return func(yield func(oracle.Part, error) bool) {
		step, ok := o.due(r.Messages)
		if !ok {
			step.Fail = "the script has no step for this call"
		}
		p := player{yield: yield}
		p.play(ctx, step, len(r.Messages))
	}
}

// due finds the step that answers history.
func (o *Oracle) due(history []sessions.Message) (Step, bool) {
	text, n := turnOf(history)
	for _, rule := range o.script.Rules {
		if rule.matches(text) {
			return stepAt(rule.Steps, n)
		}
	}
	return stepAt(o.script.Steps, int(o.played.Add(1)-1))
}

// turnOf returns the text of the last user message and how many whole
// assistant messages follow it. One cut short does not count: the model call
// that made it is the one that is repeated.
func turnOf(history []sessions.Message) (text string, answers int) {
	for i := len(history) - 1; i >= 0; i-- {
		switch m := history[i]; {
		case m.Role == sessions.RoleUser:
			return sessions.TextOf(m.Content), answers
		case m.Role == sessions.RoleAssistant && !m.Interrupted:
			answers++
		}
	}
	return "", answers
}

// player yields the parts of one step; done says that the answer has ended.
type player struct {
	yield func(oracle.Part, error) bool
	done  bool
}

// play yields step; history is the number of messages before the answer.
func (p *player) play(ctx context.Context, step Step, history int) {
	p.pause(ctx, step.Delay)
	p.pass(ctx, step.Gate)
	if step.Text != "" {
		p.give(ctx, oracle.TextDelta{Text: step.Text})
	}
	for _, d := range step.Deltas {
		p.pause(ctx, d.After)
		p.give(ctx, oracle.TextDelta{Text: d.Text})
	}
	for i, call := range step.Calls {
		p.give(ctx, call.part(history, i))
	}
	if step.Fail != "" {
		p.fail(sessions.Errorf(sessions.CodeLLMAPIFailure, "The model call failed; try again later.").Because(errors.New(step.Fail)))
	}
	if step.Overflow {
		p.fail(oracle.Overflow("the script says so"))
	}
	if step.Hang {
		p.pass(ctx, make(chan struct{}))
	}
	if u := step.Usage; u != nil {
		usage := *u
		usage.Calls = max(usage.Calls, 1)
		p.give(ctx, oracle.UsageReport{Usage: usage})
	}
	p.give(ctx, oracle.Stop{Reason: step.reason()})
}

func (s Step) reason() oracle.StopReason {
	switch {
	case s.Stop != "":
		return s.Stop
	case len(s.Calls) > 0:
		return oracle.StopCalls
	default:
		return oracle.StopDone
	}
}

// part returns the call as part i of the answer after history messages.
func (c Call) part(history, i int) oracle.ToolCall {
	if c.ID == "" {
		c.ID = sessions.CallID(fmt.Sprintf("call-%d-%d", history+1, i+1))
	}
	if c.Args == "" {
		c.Args = "{}"
	}
	return oracle.ToolCall{ID: c.ID, Function: c.Path, Args: c.Args}
}

func (p *player) give(ctx context.Context, part oracle.Part) {
	if p.done {
		return
	}
	if err := ctx.Err(); err != nil {
		p.fail(err)
		return
	}
	p.done = !p.yield(part, nil)
}

func (p *player) fail(err error) {
	if !p.done {
		p.done = true
		p.yield(nil, err)
	}
}

func (p *player) pause(ctx context.Context, d time.Duration) {
	if p.done || d <= 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		p.fail(ctx.Err())
	}
}

// pass waits until gate opens; a nil gate stands open.
func (p *player) pass(ctx context.Context, gate <-chan struct{}) {
	if p.done || gate == nil {
		return
	}
	select {
	case <-gate:
	case <-ctx.Done():
		p.fail(ctx.Err())
	}
}
