package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
)

// adder is a tool that adds one to the state "n" and returns what it has then.
type adder struct {
	spec  tools.Spec
	after func(ctx context.Context, call tools.Call) error // nil for nothing
}

func (c adder) Spec() tools.Spec { return c.spec }

func (c adder) Invoke(ctx context.Context, call tools.Call) (json.RawMessage, error) {
	n, err := count(ctx, call.Turn)
	if err != nil {
		return nil, err
	}
	next := json.RawMessage(strconv.Itoa(n + 1))
	if err := call.Turn.SetState("n", next); err != nil {
		return nil, err
	}
	if again, err := count(ctx, call.Turn); err != nil || again != n+1 {
		return nil, errors.New("a call does not find what it has set")
	}
	if c.after != nil {
		if err := c.after(ctx, call); err != nil {
			return nil, err
		}
	}
	return next, nil
}

func count(ctx context.Context, turn tools.Turn) (n int, err error) {
	value, found, err := turn.State(ctx, "n")
	if err != nil || !found {
		return 0, err
	}
	return n, json.Unmarshal(value.Value, &n)
}

// requireState requires the value and version of the state "n"; version 0 means
// that there is none.
func requireState(t *testing.T, w *actortest.World, at sessions.Address, value string, version int64) {
	t.Helper()
	state, err := w.Store.State(t.Context(), w.Session(at).Fence.Incarnation, "n")
	require.NoError(t, err)
	if version == 0 {
		require.Empty(t, state)
		return
	}
	require.Equal(t, value, string(state["n"].Value))
	require.Equal(t, version, state["n"].Version)
}

func TestStateIsStoredWithItsStep(t *testing.T) {
	var w *actortest.World
	at := actortest.Key("a")
	w = world(t, script(calls("/t/n"), calls("/t/look", "/t/n"), text("done")), mounts{
		"/t/n": adder{},
		"/t/look": invoke(func(ctx context.Context, call tools.Call) (json.RawMessage, error) {
			value, found, err := call.Turn.State(ctx, "n")
			if err != nil || !found || value.UpdatedAt == 0 {
				return nil, errors.New("the step before is not stored")
			}
			requireState(t, w, at, string(value.Value), value.Version)
			return value.Value, nil
		}),
	}, shortTTL)
	require.Equal(t, "done", w.Say(at, "work"))
	requireState(t, w, at, "2", 2)
	results := requireResultOfEach(t, w, at, 2)
	require.Equal(t, "1", string(results[0].Content[0].Value))
	require.Equal(t, "2", string(results[1].Content[0].Value))

	w.AwaitIdle() // out of memory
	_, err := w.Store.SetState(t.Context(), sessions.SetState{Owner: actortest.Owner, At: at, Name: "n", Value: json.RawMessage("40")})
	require.NoError(t, err)
	require.Equal(t, "done", w.Say(at, "work"))
	requireState(t, w, at, "42", 5)
}

// case 14: of the calls of one step that set a value, the last one counts,
// whichever ends first; one that fails has set nothing.
func TestStateOfParallelCalls(t *testing.T) {
	second, third := make(chan struct{}), make(chan struct{})
	w := world(t, script(numbered(4), text("done")), mounts{"/t/n": invoke(func(ctx context.Context, call tools.Call) (json.RawMessage, error) {
		n := numberOf(call)
		switch n { // the last ends first
		case 0:
			<-second
		case 1:
			<-third
			defer close(second)
		default:
			defer func() {
				if n == 2 {
					close(third)
				}
			}()
		}
		if _, found, err := call.Turn.State(ctx, "n"); found || err != nil {
			return nil, errors.New("a call finds what another has set")
		}
		if err := call.Turn.SetState("n", call.Args); err != nil {
			return nil, err
		}
		if n == 3 {
			return nil, errors.New("no")
		}
		return call.Args, nil
	})})
	at := actortest.Key("a")
	require.Equal(t, "done", w.Say(at, "work"))
	requireResultOfEach(t, w, at, 4)
	requireState(t, w, at, `{"n":2}`, 1)
}

func TestCallsInOrderFindTheStateOfEachOther(t *testing.T) {
	const n = 20
	paths := make([]string, n)
	for i := range paths {
		paths[i] = "/t/n"
	}
	failing := adder{spec: tools.Spec{InOrder: true}, after: func(_ context.Context, call tools.Call) error {
		if strings.Contains(string(call.Args), "fail") {
			return errors.New("no")
		}
		return nil
	}}
	step := calls(paths...)
	step.Calls[3].Args = `{"fail":true}`
	o := script(step, text("done"))
	w := actortest.New(t, profiles(o), actortest.Config{Config: actors.Config{
		Tools: treeOf(t, mounts{"/t/n": failing}), Limits: sessions.Limits{ParallelToolCalls: 2},
	}})
	at := actortest.Key("a")
	require.Equal(t, "done", w.Say(at, "work"))
	results := requireResultOfEach(t, w, at, n)
	want := 0
	for i, result := range results {
		if i == 3 {
			require.NotNil(t, result.Error)
			continue
		}
		want++
		require.Equal(t, strconv.Itoa(want), string(result.Content[0].Value))
	}
	requireState(t, w, at, strconv.Itoa(n-1), 1)
}

// What a step that is cut has set is not kept, and the history does not say that
// the call went well.
func TestACutStepLeavesTheStateOfTheStepBefore(t *testing.T) {
	started := make(chan struct{}, 1)
	w := world(t, script(calls("/t/n"), calls("/t/n", "/t/one", "/t/hang"), text("done")), mounts{
		"/t/n": adder{}, "/t/one": output(`"kept"`), "/t/hang": hang(started),
	})
	at := actortest.Key("a")
	call := w.Send(at, "work")
	<-started
	for { // until the others have ended, of which only one is shown
		shown := 0
		for _, f := range w.Frames(at) {
			if f.Type() == sessions.FrameToolResult {
				shown++
			}
		}
		if shown == 2 { // the step before had the other
			break
		}
		time.Sleep(time.Millisecond)
	}
	require.True(t, w.Cancel(at))
	call.Failed(sessions.CodeCancelled)
	requireState(t, w, at, "1", 1)
	results := requireResultOfEach(t, w, at, 3)
	require.Equal(t, sessions.CodeCancelled, results[0].Error.Code)
	require.Equal(t, `"kept"`, string(results[1].Content[0].Value))
	require.Equal(t, "fine", w.Say(at, "go on"))
}

func TestAFailedTurnLeavesTheStateOfItsLastStep(t *testing.T) {
	w := world(t, script(calls("/t/n"), scripted.Step{Fail: "no more"}), mounts{"/t/n": adder{}})
	at := actortest.Key("a")
	w.Send(at, "work").Failed(sessions.CodeLLMAPIFailure)
	requireState(t, w, at, "1", 1)
}

// A stop between the end of a call and that of its step leaves nothing of the
// call; where it may, it runs again, and counts once.
func TestAStopBetweenACallAndItsStep(t *testing.T) {
	for name, again := range map[string]bool{"repeatable": true, "not repeatable": false} {
		t.Run(name, func(t *testing.T) {
			started, set := make(chan struct{}, 2), make(chan struct{}, 2)
			tree := func(hanging tools.Tool) *tools.Tree {
				return treeOf(t, mounts{
					"/t/n": adder{spec: tools.Spec{Repeatable: again}, after: func(context.Context, tools.Call) error {
						set <- struct{}{}
						return nil
					}},
					"/t/hang": hanging,
				})
			}
			steps := []scripted.Step{calls("/t/n"), calls("/t/n", "/t/hang"), text("done")}
			w := actortest.Open(t, profiles(script(steps...)), actortest.Config{Config: actors.Config{Tools: tree(repeatable{hang(started)})}})
			at := actortest.Key("a")
			w.Send(at, "work", actortest.As("r")).Accepted()
			<-set
			<-set
			<-started
			w = cutAndReopen(t, w, profiles(script(steps...)), tree(repeatable{output(`"ok"`)}))
			call := w.Send(at, "work", actortest.As("r"))
			if !again {
				call.Failed(sessions.CodeHostRestarted)
				requireState(t, w, at, "1", 1)
				return
			}
			require.Nil(t, call.Reply().Err)
			requireState(t, w, at, "2", 2)
			require.Equal(t, "2", string(requireResultOfEach(t, w, at, 2)[0].Content[0].Value))
		})
	}
}

func TestStateThatCannotBeSet(t *testing.T) {
	late := make(chan error, 1)
	refused := func(want sessions.Code, name, value string) tools.Tool {
		return invoke(func(_ context.Context, call tools.Call) (json.RawMessage, error) {
			err := call.Turn.SetState(name, json.RawMessage(value))
			if sessions.CodeOf(err) != want {
				return nil, &tools.Failure{Message: "not refused"}
			}
			return json.RawMessage(`"refused"`), nil
		})
	}
	w := world(t, script(calls("/t/large", "/t/null", "/t/empty", "/t/text", "/t/name", "/t/deep", "/t/late"), text("done")), mounts{
		"/t/large": refused(sessions.CodePayloadTooLarge, "n", `"`+strings.Repeat("x", 1<<20)+`"`),
		"/t/null":  refused(sessions.CodeInvalidRequest, "n", "null"),
		"/t/empty": refused(sessions.CodeInvalidRequest, "n", ""),
		"/t/text":  refused(sessions.CodeInvalidRequest, "n", "nonsense"),
		"/t/name":  refused(sessions.CodeInvalidRequest, "", "1"),
		"/t/deep":  refused(sessions.CodeInvalidRequest, "n", strings.Repeat("[", 1000)+strings.Repeat("]", 1000)),
		"/t/late": invoke(func(ctx context.Context, call tools.Call) (json.RawMessage, error) {
			go func() {
				<-ctx.Done()
				late <- call.Turn.SetState("n", json.RawMessage("1"))
			}()
			return json.RawMessage(`"refused"`), nil
		}),
	})
	at := actortest.Key("a")
	require.Equal(t, "done", w.Say(at, "work"))
	for _, result := range requireResultOfEach(t, w, at, 7) {
		require.Nil(t, result.Error)
		require.Equal(t, `"refused"`, string(result.Content[0].Value))
	}
	require.Equal(t, sessions.CodeConflict, sessions.CodeOf(<-late))
	requireState(t, w, at, "", 0)
}
