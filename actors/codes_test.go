package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
)

// requireFailedTurn requires that the session's last turn failed with the code,
// and that the session takes the next prompt.
func requireFailedTurn(t *testing.T, w *actortest.World, at sessions.Address, code sessions.Code) {
	t.Helper()
	turns := w.Turns(at)
	last := turns[len(turns)-1]
	require.Equal(t, sessions.TurnIsFailed, last.Status)
	require.Equal(t, code, last.Error.Code)
	s := w.Session(at)
	require.Equal(t, sessions.StatusFailed, s.Status)
	require.Equal(t, code, s.LastError.Code)
	frames := w.Frames(at)
	require.Equal(t, code, frames[len(frames)-1].Body.(sessions.Failed).Error.Code)
	require.Equal(t, "fine", w.Say(at, "go on"))
	require.Equal(t, sessions.StatusIdle, w.Session(at).Status)
	require.Nil(t, w.Session(at).LastError)
}

// case 07: a refused request has not been used up.
func TestCase07AgentBusy(t *testing.T) {
	gate := make(chan struct{})
	w := world(t, script(scripted.Step{Gate: gate, Text: "done"}), nil)
	at := actortest.Key("a")
	first := w.Send(at, "work")
	took := first.Accepted()
	r := w.Send(at, "second", actortest.As("second")).Failed(sessions.CodeAgentBusy)
	require.EqualValues(t, took.Turn.TurnID, r.Err.Details["turnId"])
	require.Len(t, w.History(at), 1)
	close(gate)
	require.Equal(t, "done", first.Completed())
	again := w.Send(at, "second", actortest.As("second")).Reply()
	require.Nil(t, again.Err)
	require.False(t, again.Duplicate)
	require.Len(t, w.Turns(at), 2)
}

func TestLLMAPIFailure(t *testing.T) {
	w := world(t, script(scripted.Step{Fail: "the key sk-123 is wrong"}), nil)
	at := actortest.Key("a")
	r := w.Send(at, "work").Failed(sessions.CodeLLMAPIFailure)
	require.NotContains(t, r.Err.Message, "sk-123")
	requireFailedTurn(t, w, at, sessions.CodeLLMAPIFailure)
	for _, f := range w.Frames(at) {
		shown, err := json.Marshal(f)
		require.NoError(t, err)
		require.NotContains(t, string(shown), "sk-123")
	}
}

// counted is a tool that counts its calls.
func counted(n *atomic.Int64) invoke {
	return func(context.Context, tools.Call) (json.RawMessage, error) {
		n.Add(1)
		return json.RawMessage(`1`), nil
	}
}

func TestScopeViolationFailsTheTurn(t *testing.T) {
	for _, path := range []string{"/other/tool", "/other/nothing", "/t2/one", "/t/../other/tool"} {
		t.Run(path, func(t *testing.T) {
			var inside, outside atomic.Int64
			w := world(t, script(calls("/t/one", path, "/t/one"), text("done")),
				mounts{"/t/one": counted(&inside), "/other/tool": counted(&outside), "/t2/one": counted(&outside)})
			at := actortest.Key("a")
			r := w.Send(at, "work").Reply()
			if strings.Contains(path, "..") { // no path at all, so no tool has this name
				require.Nil(t, r.Err)
				require.Zero(t, outside.Load())
				return
			}
			require.Equal(t, sessions.CodeToolScopeViolation, r.Err.Code)
			require.Equal(t, path, r.Err.Details["path"])
			require.Zero(t, inside.Load())
			require.Zero(t, outside.Load())
			results := requireResultOfEach(t, w, at, 3)
			require.Equal(t, sessions.CodeCancelled, results[0].Error.Code)
			require.Equal(t, sessions.CodeToolScopeViolation, results[1].Error.Code)
			require.Equal(t, sessions.CodeCancelled, results[2].Error.Code)
			requireFailedTurn(t, w, at, sessions.CodeToolScopeViolation)
		})
	}
}

func TestScopeViolationIsReported(t *testing.T) {
	var inside, outside atomic.Int64
	w := world(t, script(calls("/t/one", "/other/tool"), text("done")),
		mounts{"/t/one": counted(&inside), "/other/tool": counted(&outside)},
		func(p *actors.Profile) { p.OnScopeViolation, p.OnToolError = actors.Report, actors.Fail })
	at := actortest.Key("a")
	require.Equal(t, "done", w.Say(at, "work"))
	require.EqualValues(t, 1, inside.Load())
	require.Zero(t, outside.Load())
	require.Equal(t, sessions.CodeToolScopeViolation, requireResultOfEach(t, w, at, 2)[1].Error.Code)
}

// The target's subtree belongs to the sessions with that target alone.
func TestScopeOfATarget(t *testing.T) {
	var mine, others atomic.Int64
	w := world(t, script(calls("/targets/a/one"), calls("/targets/b/one"), text("done")),
		mounts{"/targets/a/one": counted(&mine), "/targets/b/one": counted(&others)},
		func(p *actors.Profile) { p.Tools = []string{tools.TargetEntry} })
	w.Send(actortest.Key("a"), "work").Failed(sessions.CodeToolScopeViolation)
	require.EqualValues(t, 1, mine.Load())
	w.Send(actortest.Key("c"), "work").Failed(sessions.CodeToolScopeViolation)
	w.Send(actortest.Key("../b"), "work").Failed(sessions.CodeToolScopeViolation)
	require.Zero(t, others.Load())
}

func TestToolFailures(t *testing.T) {
	faults := map[string]struct {
		tool    tools.Tool
		message string // "" when the tool's own is hidden
	}{
		"error": {invoke(func(context.Context, tools.Call) (json.RawMessage, error) { return nil, errors.New("secret") }), ""},
		"failure": {invoke(func(context.Context, tools.Call) (json.RawMessage, error) {
			return nil, &tools.Failure{Message: "no such file"}
		}), "no such file"},
		"wrapped": {invoke(func(context.Context, tools.Call) (json.RawMessage, error) {
			return nil, fmt.Errorf("secret: %w", &tools.Failure{Message: "no such file"})
		}), "no such file"},
		"panic":    {invoke(func(context.Context, tools.Call) (json.RawMessage, error) { panic("secret") }), ""},
		"no JSON":  {output(`secret`), ""},
		"not even": {invoke(func(context.Context, tools.Call) (json.RawMessage, error) { panic(nil) }), ""},
	}
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			w := world(t, script(calls("/t/bad", "/t/one"), text("done")), mounts{"/t/bad": f.tool, "/t/one": output(`1`)})
			at := actortest.Key("a")
			require.Equal(t, "done", w.Say(at, "work"))
			results := requireResultOfEach(t, w, at, 2)
			require.Equal(t, sessions.CodeToolInvokeFailed, results[0].Error.Code)
			require.Equal(t, "/t/bad", results[0].Error.Details["path"])
			require.NotContains(t, results[0].Error.Message, "secret")
			if f.message != "" {
				require.Equal(t, f.message, results[0].Error.Message)
			}
			require.Nil(t, results[1].Error)
		})
		t.Run(name+" fails the turn", func(t *testing.T) {
			o := script(calls("/t/bad", "/t/one"), text("done"))
			w := world(t, o, mounts{"/t/bad": f.tool, "/t/one": output(`1`)},
				func(p *actors.Profile) { p.OnToolError = actors.Fail })
			at := actortest.Key("a")
			w.Send(at, "work").Failed(sessions.CodeToolInvokeFailed)
			requireResultOfEach(t, w, at, 2)
			require.Len(t, o.Requests(), 1)
			requireFailedTurn(t, w, at, sessions.CodeToolInvokeFailed)
		})
	}
}

func TestCallsThatCannotRun(t *testing.T) {
	type args struct {
		Path string `json:"path"`
	}
	var ran atomic.Int64
	typed := tools.MustFunc("typed", func(context.Context, tools.Call, args) (int, error) { return int(ran.Add(1)), nil })
	bad := map[string]scripted.Call{
		"no JSON":         {Path: "/t/any", Args: `{"path": `},
		"no object":       {Path: "/t/any", Args: `[1]`},
		"null":            {Path: "/t/any", Args: `null`},
		"two objects":     {Path: "/t/any", Args: `{} {}`},
		"wrong type":      {Path: "/t/typed", Args: `{"path": 3}`},
		"missing":         {Path: "/t/typed", Args: `{}`},
		"typed, no JSON":  {Path: "/t/typed", Args: "\xff"},
		"not mounted":     {Path: "/t/nothing"},
		"unknown name":    {Path: "make_coffee"},
		"impossible name": {Path: "a b\x00c"},
		"empty name":      {Path: ""},
	}
	for name, call := range bad {
		t.Run(name, func(t *testing.T) {
			w := world(t, script(scripted.Step{Calls: []scripted.Call{call}}, text("done")),
				mounts{"/t/any": counted(&ran), "/t/typed": typed})
			at := actortest.Key("a")
			require.Equal(t, "done", w.Say(at, "work"))
			result := requireResultOfEach(t, w, at, 1)[0]
			require.Equal(t, sessions.CodeToolInvokeFailed, result.Error.Code)
			require.Zero(t, ran.Load(), "the tool receives nothing")
		})
	}
}

func TestLimitsOfATurn(t *testing.T) {
	many := scripted.Step{Text: "many", Calls: make([]scripted.Call, 4)}
	for i := range many.Calls {
		many.Calls[i] = scripted.Call{Path: "/t/one"}
	}
	var ran atomic.Int64
	tree := treeOf(t, mounts{"/t/one": counted(&ran)})
	limits := actortest.Config{Config: actors.Config{Tools: tree, Limits: sessions.Limits{TurnTextBytes: 100, CallsPerStep: 3, ToolResultBytes: 50}}}
	t.Run("text", func(t *testing.T) {
		half := strings.Repeat("x", 60)
		w := actortest.New(t, profiles(script(scripted.Step{Text: half, Calls: []scripted.Call{{Path: "/t/one"}}}, text(half))), limits)
		at := actortest.Key("a")
		r := w.Send(at, "work").Failed(sessions.CodePayloadTooLarge)
		require.Equal(t, "turnTextBytes", r.Err.Details["limit"])
		require.EqualValues(t, 100, r.Err.Details["max"])
		requireFailedTurn(t, w, at, sessions.CodePayloadTooLarge)
	})
	t.Run("calls", func(t *testing.T) {
		ran.Store(0)
		w := actortest.New(t, profiles(script(many)), limits)
		at := actortest.Key("a")
		r := w.Send(at, "work").Failed(sessions.CodePayloadTooLarge)
		require.Equal(t, "callsPerStep", r.Err.Details["limit"])
		require.Zero(t, ran.Load())
		history := w.History(at)
		require.Len(t, history, 2)
		require.True(t, history[1].Interrupted)
		requireFailedTurn(t, w, at, sessions.CodePayloadTooLarge)
	})
	t.Run("result", func(t *testing.T) {
		tree := treeOf(t, mounts{"/t/big": output(`"` + strings.Repeat("x", 49) + `"`), "/t/fits": output(`"` + strings.Repeat("x", 48) + `"`)})
		c := limits
		c.Tools = tree
		w := actortest.New(t, profiles(script(calls("/t/big", "/t/fits"), text("done"))), c)
		at := actortest.Key("a")
		require.Equal(t, "done", w.Say(at, "work"))
		results := requireResultOfEach(t, w, at, 2)
		require.Equal(t, sessions.CodePayloadTooLarge, results[0].Error.Code)
		require.EqualValues(t, 50, results[0].Error.Details["max"])
		require.Nil(t, results[1].Error)
	})
}
