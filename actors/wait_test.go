package actors_test

import (
	"context"
	"encoding/json"
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

// counting is a tool that counts its calls.
func counting(n *atomic.Int64, output string) invoke {
	return func(context.Context, tools.Call) (json.RawMessage, error) {
		n.Add(1)
		return json.RawMessage(output), nil
	}
}

func TestATurnWaitsForAClientsTool(t *testing.T) {
	o := script(scripted.Step{Text: "let me ask", Calls: []scripted.Call{{Path: "/ui/ask", Args: `{"q": "why?"}`}}}, text("done"))
	w := world(t, o, nil, guarded)
	at := actortest.Key("a")
	call, pending := waitingWork(w, at)
	require.Len(t, pending, 1)
	require.Equal(t, sessions.PendingClientTool, pending[0].Kind)
	require.Equal(t, "/ui/ask", pending[0].Path)
	require.JSONEq(t, `{"q":"why?"}`, string(pending[0].Args))
	require.NotZero(t, pending[0].Since)
	require.Equal(t, sessions.TurnIsWaiting, w.Turns(at)[0].Status)
	requireNoBusy(t, w)

	r := mustAnswer(w, at, pending[0].CallID, gives(`{ "because": 1 }`))
	require.False(t, r.Repeat)
	require.Empty(t, r.Session.Pending)
	require.Equal(t, "done", call.Completed())
	history := w.History(at)
	require.Len(t, history, 4)
	require.Equal(t, `{"because":1}`, string(history[2].Content[0].Value))
	require.Equal(t, pending[0].CallID, history[2].ToolCallID)
	require.Equal(t, history[:3], o.Requests()[1].Messages)
	require.Equal(t, []sessions.FrameType{
		sessions.FrameAccepted, sessions.FrameStarted, sessions.FrameMessage,
		sessions.FrameText, sessions.FrameUsage, sessions.FrameMessage, sessions.FrameToolCall, sessions.FrameWaiting,
		sessions.FrameAnswered, sessions.FrameToolResult, sessions.FrameText, sessions.FrameUsage, sessions.FrameMessage, sessions.FrameCompleted,
	}, typesOf(w.Frames(at)))
	requireNoBusy(t, w)
}

func TestAToolRunsOnceItIsApproved(t *testing.T) {
	var ran atomic.Int64
	w := world(t, script(calls("/t/guarded/write"), text("done")), mounts{"/t/guarded/write": counting(&ran, `1`)}, guarded)
	at := actortest.Key("a")
	call, pending := waitingWork(w, at)
	require.Equal(t, sessions.PendingApproval, pending[0].Kind)
	require.Zero(t, ran.Load())
	mustAnswer(w, at, pending[0].CallID, approves(true))
	require.Equal(t, "done", call.Completed())
	require.EqualValues(t, 1, ran.Load())
	requireOutputs(t, lastResults(w.History(at)), `1`)

	call, pending = waitingWork(w, at)
	mustAnswer(w, at, pending[0].CallID, approves(false))
	require.Equal(t, "done", call.Completed(), "the model goes on without it")
	require.EqualValues(t, 1, ran.Load())
	result := lastResults(w.History(at))[0]
	require.Equal(t, sessions.CodeToolInvokeFailed, result.Error.Code)
	require.Contains(t, result.Error.Message, "declined")
}

// selfGuarded is a tool that says itself what its calls wait for.
type selfGuarded struct {
	invoke
	spec tools.Spec
}

func (s selfGuarded) Spec() tools.Spec { return s.spec }

func TestAToolMaySayWhatItsCallsWaitFor(t *testing.T) {
	w := world(t, script(calls("/t/ask", "/t/run"), text("done")), mounts{
		"/t/ask": selfGuarded{output(`"never"`), tools.Spec{NeedsApproval: true}},
		"/t/run": selfGuarded{output(`"never"`), tools.Spec{ClientSide: true}},
	})
	at := actortest.Key("a")
	call, pending := waitingWork(w, at)
	require.Equal(t, sessions.PendingApproval, pending[0].Kind)
	require.Equal(t, sessions.PendingClientTool, pending[1].Kind)
	mustAnswer(w, at, pending[0].CallID, approves(false))
	mustAnswer(w, at, pending[1].CallID, gives(`"theirs"`))
	require.Equal(t, "done", call.Completed())
	requireOutputs(t, lastResults(w.History(at)), "", `"theirs"`)
}

// What needs nobody runs at once; what was approved runs when all is answered;
// results keep the order of the calls.
func TestAStepOfAllKindsOfCalls(t *testing.T) {
	var guardedRan atomic.Int64
	w := world(t, script(calls("/ui/ask", "/t/guarded/a", "/t/one", "/t/guarded/b", "/ui/pick"), text("done")), mounts{
		"/t/one": output(`"one"`), "/t/guarded/a": counting(&guardedRan, `"a"`), "/t/guarded/b": counting(&guardedRan, `"b"`),
	}, guarded)
	at := actortest.Key("a")
	call, pending := waitingWork(w, at)
	require.Len(t, pending, 4)
	var ended []sessions.CallID
	for _, f := range w.Frames(at) {
		if body, ok := f.Body.(sessions.CallEnded); ok {
			ended = append(ended, body.CallID)
		}
	}
	require.Len(t, ended, 1, "the one that waits for nobody")
	mustAnswer(w, at, pending[3].CallID, gives(`"picked"`))
	mustAnswer(w, at, pending[1].CallID, approves(true))
	mustAnswer(w, at, pending[2].CallID, approves(false))
	require.Equal(t, pending[:1], w.Session(at).Pending)
	require.Zero(t, guardedRan.Load())
	mustAnswer(w, at, pending[0].CallID, fails("the user has left"))
	require.Equal(t, "done", call.Completed())
	require.EqualValues(t, 1, guardedRan.Load())
	results := lastResults(w.History(at))
	requireOutputs(t, results, "", `"a"`, `"one"`, "", `"picked"`)
	require.Equal(t, "the user has left", results[0].Error.Message)
}

// A client's tool may need an approval too: that is asked for first.
func TestAClientsToolThatNeedsApproval(t *testing.T) {
	w := world(t, script(calls("/ui/ask", "/ui/ask"), text("done")), nil, guarded, shortTTL, func(p *actors.Profile) {
		p.NeedsApproval = []string{"/ui"}
	})
	at := actortest.Key("a")
	_, pending := waitingWork(w, at, actortest.As("r"), nobodyWaits)
	mustAnswer(w, at, pending[0].CallID, approves(false))
	require.Equal(t, sessions.PendingApproval, pending[1].Kind)
	mustAnswer(w, at, pending[1].CallID, approves(true))
	w.Eventually(func() bool {
		now := w.Session(at).Pending
		return len(now) == 1 && now[0].Kind == sessions.PendingClientTool
	}, "that the turn waits for the tool")
	awaitEvicted(w, at)
	require.True(t, mustAnswer(w, at, pending[1].CallID, approves(true)).Repeat)
	mustAnswer(w, at, pending[1].CallID, gives(`"theirs"`))
	require.Equal(t, "done", w.Send(at, "work", actortest.As("r")).Completed())
	requireOutputs(t, lastResults(w.History(at)), "", `"theirs"`)
}

func TestAnAnswerIsTakenOnce(t *testing.T) {
	w := world(t, script(calls("/ui/ask", "/t/guarded/a"), text("done")), mounts{"/t/guarded/a": output(`1`)}, guarded)
	at := actortest.Key("a")
	call, pending := waitingWork(w, at)
	ask, approve := pending[0].CallID, pending[1].CallID
	requireNotAnswered(w, at, "call_none", gives(`1`), sessions.CodeNotFound)
	requireNotAnswered(w, at, ask, approves(true), sessions.CodeInvalidRequest)
	requireNotAnswered(w, at, approve, gives(`1`), sessions.CodeInvalidRequest)
	requireNotAnswered(w, at, ask, sessions.CallAnswer{}, sessions.CodeInvalidRequest)
	requireNotAnswered(w, at, ask, gives(`{`), sessions.CodeInvalidRequest)
	requireNotAnswered(w, actortest.ID("unknown"), ask, gives(`1`), sessions.CodeSessionNotFound)
	requireNotAnswered(w, actortest.Key("unknown"), ask, gives(`1`), sessions.CodeSessionNotFound)
	mustAnswer(w, at, ask, gives(`{"a":1}`))
	require.True(t, mustAnswer(w, at, ask, gives(`{"a": 1}`)).Repeat)
	requireNotAnswered(w, at, ask, gives(`2`), sessions.CodeConflict)
	mustAnswer(w, at, approve, approves(true))
	require.Equal(t, "done", call.Completed())
	require.True(t, mustAnswer(w, at, ask, gives(`{"a":1}`)).Repeat, "after the call's end too")
	require.True(t, mustAnswer(w, at, approve, approves(true)).Repeat)
	requireNotAnswered(w, at, approve, approves(false), sessions.CodeConflict)
}

func TestAnswersOverTheLimitAndErrorsThatEndTheTurn(t *testing.T) {
	p := profiles(script(calls("/ui/ask"), text("done")), guarded)
	failing := p[sessions.DefaultProfile]
	failing.OnToolError = actors.Fail
	p["failing"] = failing
	w := actortest.New(t, p, actortest.Config{Config: actors.Config{Limits: sessions.Limits{ToolResultBytes: 100}}})
	long := strings.Repeat("x", 100)
	for _, given := range []sessions.CallAnswer{gives(`"` + long + `"`), fails(long + "y")} {
		at := actortest.Key("a")
		call, pending := waitingWork(w, at)
		mustAnswer(w, at, pending[0].CallID, given)
		require.Equal(t, "done", call.Completed())
		require.Equal(t, sessions.CodePayloadTooLarge, lastResults(w.History(at))[0].Error.Code)
	}
	at := actortest.Key("a", "failing")
	call, pending := waitingWork(w, at)
	mustAnswer(w, at, pending[0].CallID, fails("no"))
	call.Failed(sessions.CodeToolInvokeFailed)
	require.Equal(t, "fine", w.Say(at, "go on"))
}

// Nobody is asked about what cannot be run.
func TestCallsThatFitNoSchemaAreNotAsked(t *testing.T) {
	step := scripted.Step{Calls: []scripted.Call{{Path: "/ui/pick", Args: `{"of": 1}`}, {Path: "/t/guarded/gone"}}}
	w := world(t, script(step, text("done")), nil, guarded)
	at := actortest.Key("a")
	require.Equal(t, "done", w.Say(at, "work"))
	requireOutputs(t, lastResults(w.History(at)), "", "")
}

// setting is a tool that sets a value of the state.
func setting(value string) invoke {
	return func(_ context.Context, c tools.Call) (json.RawMessage, error) {
		return json.RawMessage(`"set"`), c.Turn.SetState("s", json.RawMessage(value))
	}
}

// What the calls have set that need nobody is kept, whatever becomes of the others.
func TestStateIsKeptWhileATurnWaits(t *testing.T) {
	w := world(t, script(calls("/t/one", "/t/guarded/two"), text("done")),
		mounts{"/t/one": setting(`1`), "/t/guarded/two": setting(`2`)}, guarded)
	at := actortest.Key("a")
	stateOf := func() sessions.StateValue {
		state, err := w.Store.State(t.Context(), w.Session(at).Fence.Incarnation, "s")
		require.NoError(t, err)
		return state["s"]
	}
	waitingWork(w, at)
	require.JSONEq(t, `1`, string(stateOf().Value))
	require.True(t, w.Cancel(at))
	require.JSONEq(t, `1`, string(stateOf().Value))
	requireOutputs(t, lastResults(w.History(at)), `"set"`, "")
	call, pending := waitingWork(w, at)
	mustAnswer(w, at, pending[0].CallID, approves(true))
	require.Equal(t, "done", call.Completed())
	require.JSONEq(t, `2`, string(stateOf().Value))
}

// A turn may wait many times, and others' turns have its place meanwhile.
func TestATurnWaitsAgainAndAgain(t *testing.T) {
	w := actortest.New(t, profiles(script(calls("/ui/ask"), calls("/ui/ask", "/ui/ask"), calls("/ui/pick"), text("done")), guarded),
		actortest.Config{Config: actors.Config{Limits: sessions.Limits{BusyTurns: 1}}})
	at := actortest.Key("a")
	call := w.Send(at, "work")
	call.Accepted()
	answered := map[sessions.CallID]bool{}
	for _, n := range []int{1, 2, 1} {
		var pending []sessions.Pending
		w.Eventually(func() bool {
			pending = w.Session(at).Pending
			return len(pending) == n && !answered[pending[0].CallID]
		}, "that the turn waits")
		requireNoBusy(t, w) // the place is free a moment after the wait is stored
		require.Equal(t, "fine", w.Say(actortest.Key("other"), "hello"))
		for _, p := range pending {
			answered[p.CallID] = true
			mustAnswer(w, at, p.CallID, gives(`1`))
		}
	}
	require.Equal(t, "done", call.Completed())
	requireNoBusy(t, w)
}
