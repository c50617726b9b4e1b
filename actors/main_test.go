package actors_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// invoke is a tool that takes any object.
type invoke func(ctx context.Context, call tools.Call) (json.RawMessage, error)

func (invoke) Spec() tools.Spec { return tools.Spec{Description: "a tool of a test"} }

func (f invoke) Invoke(ctx context.Context, call tools.Call) (json.RawMessage, error) {
	return f(ctx, call)
}

// mounts are tools by path.
type mounts map[string]tools.Tool

// profiles returns one profile, which may call what is below /t.
func profiles(o oracle.Oracle, change ...func(*actors.Profile)) actortest.Profiles {
	p := actors.Profile{Oracle: o, System: "Be brief.", Tools: []string{"/t"}}
	for _, c := range change {
		c(&p)
	}
	return actortest.Profiles{sessions.DefaultProfile: p}
}

// treeOf returns a tool tree.
func treeOf(t testing.TB, m mounts) *tools.Tree {
	t.Helper()
	tree := &tools.Tree{}
	for path, tool := range m {
		require.NoError(t, tree.Mount(path, tool))
	}
	return tree
}

// world starts a World with one profile and some tools.
func world(t testing.TB, o oracle.Oracle, m mounts, change ...func(*actors.Profile)) *actortest.World {
	t.Helper()
	return actortest.New(t, profiles(o, change...), actortest.Config{Config: actors.Config{Tools: treeOf(t, m)}})
}

// script returns a strict oracle that plays steps for turns whose text contains
// "work", and answers "fine" to all others.
func script(steps ...scripted.Step) *scripted.StrictOracle {
	return scripted.Strict(scripted.Play(scripted.Script{Rules: []scripted.Rule{
		{When: "work", Steps: steps},
		{Steps: []scripted.Step{{Text: "fine"}}},
	}}))
}

// calls is a step that calls tools by path.
func calls(paths ...string) scripted.Step {
	var s scripted.Step
	for _, p := range paths {
		s.Calls = append(s.Calls, scripted.Call{Path: p})
	}
	return s
}

func text(s string) scripted.Step { return scripted.Step{Text: s} }

// output is a tool that returns a JSON text.
func output(value string) invoke {
	return func(context.Context, tools.Call) (json.RawMessage, error) { return json.RawMessage(value), nil }
}

// hang is a tool that ends with its context, and tells of each start.
func hang(started chan<- struct{}) invoke {
	return func(ctx context.Context, _ tools.Call) (json.RawMessage, error) {
		started <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

// typesOf lists the types of frames.
func typesOf(frames []sessions.Frame) []sessions.FrameType {
	types := make([]sessions.FrameType, len(frames))
	for i, f := range frames {
		types[i] = f.Type()
	}
	return types
}

// lastResults returns the tool messages at the end of a history, or before its
// last message.
func lastResults(history []sessions.Message) []sessions.Message {
	var results []sessions.Message
	for _, m := range history {
		switch {
		case m.Role == sessions.RoleTool:
			results = append(results, m)
		case len(m.ToolCalls) > 0:
			results = nil
		}
	}
	return results
}

// shortTTL lets agents leave as soon as they are idle.
func shortTTL(p *actors.Profile) { p.IdleTTL = time.Millisecond }

// gated is a tool that waits for a channel to be closed.
func gated(gate <-chan struct{}) invoke {
	return func(ctx context.Context, _ tools.Call) (json.RawMessage, error) {
		select {
		case <-gate:
			return json.RawMessage(`"released"`), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
