package tests

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
)

const (
	waitPath  = hosttest.ToolRoot + "/wait"
	failPath  = hosttest.ToolRoot + "/fail"
	otherPath = "/elsewhere/secret"
)

// bench is what the turns of a test play with: a strict oracle and tools that
// the test holds in its hand.
type bench struct {
	oracle  *scripted.StrictOracle
	began   chan struct{} // one value a call of the waiting tool
	release chan struct{} // one value, or closed, lets such a call go on
	invoked sync.Map      // paths of tools that were run
}

// newBench returns a bench whose oracle plays rules; whatever none matches is
// answered "fine".
func newBench(rules ...scripted.Rule) *bench {
	rules = append(rules, scripted.Rule{Steps: []scripted.Step{{Text: "fine", Repeat: true}}})
	return &bench{
		oracle: scripted.Strict(scripted.Play(scripted.Script{Rules: rules})),
		began:  make(chan struct{}, 100), release: make(chan struct{}),
	}
}

// options are those of a host with the bench's oracle and tools.
func (b *bench) options(t *testing.T, profile host.Profile) hosttest.Options {
	t.Helper()
	tree := &tools.Tree{}
	require.NoError(t, tools.MountBuiltins(tree, time.Now))
	require.NoError(t, tree.Mount(waitPath, tools.MustFunc("Waits.", b.wait)))
	require.NoError(t, tree.Mount(failPath, tools.MustFunc("Fails.", b.fail)))
	require.NoError(t, tree.Mount(otherPath, tools.MustFunc("Is none of your business.", b.fail)))
	profile.Oracle = b.oracle
	if profile.Tools == nil {
		profile.Tools = hosttest.AllTools()
	}
	return hosttest.Options{
		Profiles: map[string]host.Profile{sessions.DefaultProfile: profile},
		Config:   host.Config{Tools: tree},
	}
}

func (b *bench) wait(ctx context.Context, call tools.Call, _ struct{}) (string, error) {
	b.invoked.Store(call.Path, true)
	b.began <- struct{}{}
	select {
	case <-b.release:
		return "waited", nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (b *bench) fail(_ context.Context, call tools.Call, _ struct{}) (string, error) {
	b.invoked.Store(call.Path, true)
	return "", context.DeadlineExceeded
}

// when is a rule for prompts that contain word.
func when(word string, steps ...scripted.Step) scripted.Rule {
	return scripted.Rule{When: word, Steps: steps}
}

// calls is a step that calls tools by path.
func calls(paths ...string) scripted.Step {
	var step scripted.Step
	for _, path := range paths {
		step.Calls = append(step.Calls, scripted.Call{Path: path})
	}
	return step
}

// codeCase is one way to make a turn end with a code.
type codeCase struct {
	code    sessions.Code
	steps   []scripted.Step
	profile host.Profile
	args    api.PromptArgs
	calls   int             // model calls the turn makes
	status  sessions.Status // of the session afterwards
	details map[string]any
}

var codeCases = []codeCase{
	{
		code: sessions.CodeAgentTimeout, steps: []scripted.Step{{Text: "well", Hang: true}},
		args: api.PromptArgs{PromptTimeoutMs: new(int64(30))}, calls: 1, status: sessions.StatusFailed,
		details: map[string]any{"limit": "promptTimeoutMs", "max": 30.0},
	},
	{
		code: sessions.CodeAgentTimeout, steps: []scripted.Step{calls(waitPath)},
		args: api.PromptArgs{PromptTimeoutMs: new(int64(50))}, calls: 1, status: sessions.StatusFailed,
	},
	{
		code: sessions.CodeLLMAPIFailure, steps: []scripted.Step{{Text: "hm", Fail: "the provider's own words"}},
		calls: 1, status: sessions.StatusFailed,
	},
	{
		code: sessions.CodeMaxIterations, steps: []scripted.Step{{Calls: []scripted.Call{{Path: tools.TimePath}}, Repeat: true}},
		calls: 25, status: sessions.StatusFailed, details: map[string]any{"limit": "maxIterations", "max": 25.0},
	},
	{
		code: sessions.CodeToolScopeViolation, steps: []scripted.Step{calls(tools.TimePath, otherPath)},
		calls: 1, status: sessions.StatusFailed, details: map[string]any{"path": otherPath},
	},
	{
		code: sessions.CodeToolInvokeFailed, steps: []scripted.Step{calls(failPath)},
		profile: host.Profile{OnToolError: "fail"}, calls: 1, status: sessions.StatusFailed,
	},
}

func TestTurnsFailWithTheirCode(t *testing.T) {
	for _, c := range codeCases {
		t.Run(string(c.code), func(t *testing.T) {
			var b *bench
			options := func() hosttest.Options {
				b = newBench(when("break", c.steps...))
				return b.options(t, c.profile)
			}
			throughEveryDoor(t, options, func(h *hosttest.Host, call caller) {
				c.run(h, b, call)
			})
		})
	}
}

func (c codeCase) run(h *hosttest.Host, b *bench, call caller) {
	t := call.t
	args := c.args
	args.TargetKey, args.Text, args.RequestID = "k", "break", "r1"
	reply := call.call(api.OpPrompt, args)
	require.Equal(t, c.code, hosttest.Code(reply))
	require.False(t, reply.Error.Retryable)
	require.NotEmpty(t, reply.Error.Details["turnId"])
	require.NotContains(t, reply.Error.Message, "the provider's own words")
	for name, value := range c.details {
		require.EqualValues(t, value, reply.Error.Details[name], name)
	}
	require.Len(t, b.oracle.Requests(), c.calls)
	_, touched := b.invoked.Load(otherPath)
	require.False(t, touched, "the tool outside the scope must hear nothing")

	s, err := h.SessionGet(t.Context(), &api.SessionGetArgs{Address: api.Address{TargetKey: "k"}})
	require.NoError(t, err)
	require.Equal(t, c.status, s.Session.Status)
	require.Equal(t, c.code, s.Session.LastError.Code)

	require.Equal(t, "fine", call.mustPrompt("k", "and now?"), "the next prompt goes through a strict oracle")

	again := call.call(api.OpPrompt, args)
	require.Equal(t, c.code, hosttest.Code(again), "the same request id has the stored failure")
	require.Equal(t, true, again.Error.Details["duplicate"])
	require.Equal(t, reply.Error.Details["turnId"], again.Error.Details["turnId"])
	require.Len(t, b.oracle.Requests(), c.calls+1)
}

func TestToolFailureIsReportedToTheModel(t *testing.T) {
	var b *bench
	options := func() hosttest.Options {
		b = newBench(when("break", calls(failPath), scripted.Step{Text: "it failed"}))
		return b.options(t, host.Profile{})
	}
	throughEveryDoor(t, options, func(h *hosttest.Host, call caller) {
		t := call.t
		require.Equal(t, "it failed", call.mustPrompt("k", "break"))
		seen := b.oracle.Requests()[1].Messages
		require.Equal(t, sessions.CodeToolInvokeFailed, seen[len(seen)-1].Error.Code)
		require.NotContains(t, seen[len(seen)-1].Error.Message, "deadline")
		frames, err := h.Frames(t.Context(), &api.FramesArgs{Address: api.Address{TargetKey: "k"}})
		require.NoError(t, err)
		require.Contains(t, codesOf(frames.Frames), sessions.CodeToolInvokeFailed)
		require.Equal(t, "fine", call.mustPrompt("k", "and now?"))
	})
}

// codesOf lists the codes of the tool results among frames.
func codesOf(frames []sessions.Frame) (codes []sessions.Code) {
	for _, f := range frames {
		if ended, ok := f.Body.(sessions.CallEnded); ok && ended.Error != nil {
			codes = append(codes, ended.Error.Code)
		}
	}
	return codes
}

func TestBusySessionsRefuseASecondPrompt(t *testing.T) {
	var b *bench
	options := func() hosttest.Options {
		b = newBench(when("work", calls(waitPath), scripted.Step{Text: "done"}))
		return b.options(t, host.Profile{})
	}
	throughEveryDoor(t, options, func(h *hosttest.Host, call caller) {
		t := call.t
		first := background(func() (*api.PromptResult, error) {
			return h.Prompt(t.Context(), &api.PromptArgs{Address: api.Address{TargetKey: "k"}, Text: "work"}, nil)
		})
		<-b.began
		busy := call.prompt("k", "me too")
		require.Equal(t, sessions.CodeAgentBusy, hosttest.Code(busy))
		require.True(t, busy.Error.Retryable)
		close(b.release)
		result := <-first
		require.NoError(t, result.err)
		require.Equal(t, "done", sessions.TextOf(result.value.Message.Content))
		require.Equal(t, "fine", call.mustPrompt("k", "me too"))
	})
}

// outcome is what a call in the background gave.
type outcome[R any] struct {
	value R
	err   error
}

// background makes a call beside the test. Its outcome must be received.
func background[R any](f func() (R, error)) <-chan outcome[R] {
	done := make(chan outcome[R], 1)
	go func() {
		value, err := f()
		done <- outcome[R]{value, err}
	}()
	return done
}
