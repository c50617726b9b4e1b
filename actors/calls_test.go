package actors_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
)

// numbered is a step with n calls of /t/n, each told its number.
func numbered(n int) scripted.Step {
	var s scripted.Step
	for i := range n {
		s.Calls = append(s.Calls, scripted.Call{Path: "/t/n", Args: fmt.Sprintf(`{"n":%d}`, i)})
	}
	return s
}

// numberOf reads what numbered wrote.
func numberOf(call tools.Call) int {
	var args struct{ N int }
	if err := json.Unmarshal(call.Args, &args); err != nil {
		panic(err)
	}
	return args.N
}

// requireResultOfEach requires that the last step's calls have their results in
// call order, and one result frame each.
func requireResultOfEach(t *testing.T, w *actortest.World, at sessions.Address, n int) []sessions.Message {
	t.Helper()
	history := w.History(at)
	results := lastResults(history)
	require.Len(t, results, n)
	var asked []sessions.ToolCall
	for _, m := range history {
		if len(m.ToolCalls) > 0 {
			asked = m.ToolCalls
		}
	}
	shown := map[sessions.CallID]int{}
	for _, f := range w.Frames(at) {
		if end, ok := f.Body.(sessions.CallEnded); ok {
			shown[end.CallID]++
		}
	}
	for i, c := range asked {
		require.Equal(t, c.ID, results[i].ToolCallID)
		require.Equal(t, 1, shown[c.ID], "result frames of call %d", i)
	}
	return results
}

func TestCase14OneOfThreeCallsPanics(t *testing.T) {
	o := script(numbered(3), text("done"))
	w := world(t, o, mounts{"/t/n": invoke(func(_ context.Context, c tools.Call) (json.RawMessage, error) {
		n := numberOf(c)
		if n == 1 {
			panic("secret of the tool")
		}
		return json.RawMessage(strconv.Itoa(n)), nil
	})})
	at := actortest.Key("a")
	require.Equal(t, "done", w.Say(at, "work"))
	results := requireResultOfEach(t, w, at, 3)
	require.JSONEq(t, "0", string(results[0].Content[0].Value))
	require.Equal(t, sessions.CodeToolInvokeFailed, results[1].Error.Code)
	require.NotContains(t, results[1].Error.Message, "secret")
	require.JSONEq(t, "2", string(results[2].Content[0].Value))
}

func TestCase15ManyCallsWithRandomDelays(t *testing.T) {
	w := world(t, script(numbered(32), text("done")), mounts{"/t/n": invoke(func(_ context.Context, c tools.Call) (json.RawMessage, error) {
		time.Sleep(time.Duration(rand.IntN(20_000)) * time.Microsecond)
		return c.Args, nil
	})})
	for i := range 20 {
		at := actortest.Key(strconv.Itoa(i))
		require.Equal(t, "done", w.Say(at, "work"))
		for n, result := range requireResultOfEach(t, w, at, 32) {
			require.JSONEq(t, fmt.Sprintf(`{"n":%d}`, n), string(result.Content[0].Value))
		}
	}
}

func TestCallsRunSideBySideUpToTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running, most := make(chan struct{}, 4), make(chan int, 20)
		tree := treeOf(t, mounts{"/t/n": invoke(func(_ context.Context, c tools.Call) (json.RawMessage, error) {
			running <- struct{}{} // never waits, as no more than its capacity run
			most <- len(running)
			time.Sleep(time.Second)
			<-running
			return c.Args, nil
		})})
		w := actortest.NewInBubble(t, profiles(script(numbered(10), text("done"))), actortest.Config{
			Config: actors.Config{Tools: tree, Limits: sessions.Limits{ParallelToolCalls: 4}},
		})
		began := time.Now()
		require.Equal(t, "done", w.Say(actortest.Key("a"), "work"))
		require.Equal(t, 3*time.Second, time.Since(began).Truncate(time.Second))
		close(most)
		seen := 0
		for n := range most {
			seen = max(seen, n)
		}
		require.Equal(t, 4, seen)
	})
}

// The model's input is the same bytes whether the history was in memory or read
// again, also of outputs in an odd form.
func TestCase16InputIsTheSameAfterAReload(t *testing.T) {
	const calls = 4
	outputs := []string{
		`{"b" : 1.0,  "a":"<&>  é"}`, `12345678901234567890.123`, "\"\\ud83d\\ude00 \xff\"", `[ ]`,
	}
	done := make([]chan struct{}, calls+1)
	for i := range done {
		done[i] = make(chan struct{})
	}
	close(done[calls])
	step := numbered(calls)
	step.Text = "<look> \u2028"
	step.Calls[2].Args = `{"n": 2, "x": "\u003c", "y": 1e2, "n2": 1.50}`
	o := script(step, text("done"))
	w := world(t, o, mounts{"/t/n": invoke(func(_ context.Context, c tools.Call) (json.RawMessage, error) {
		n := numberOf(c)
		<-done[n+1]
		defer close(done[n])
		return json.RawMessage(outputs[n]), nil
	})}, func(p *actors.Profile) { p.IdleTTL = time.Millisecond })
	at := actortest.Key("a")
	require.Equal(t, "done", w.Say(at, "work <&>"))
	requireResultOfEach(t, w, at, calls)
	w.AwaitIdle()
	require.Equal(t, "fine", w.Say(at, "thanks"))
	requests := o.Requests()
	require.Len(t, requests, 3)
	inTurn, reloaded := requests[1].Messages, requests[2].Messages
	before, err := json.Marshal(inTurn)
	require.NoError(t, err)
	after, err := json.Marshal(reloaded[:len(inTurn)])
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
	require.Equal(t, inTurn, reloaded[:len(inTurn)])
}

func TestCase17AlwaysCallsATool(t *testing.T) {
	o := script(scripted.Step{Calls: []scripted.Call{{Path: "/t/one"}, {Path: "/t/one"}}, Repeat: true})
	ran := make(chan struct{}, 1000)
	w := world(t, o, mounts{"/t/one": invoke(func(context.Context, tools.Call) (json.RawMessage, error) {
		ran <- struct{}{}
		return nil, nil
	})})
	at := actortest.Key("a")
	r := w.Send(at, "work").Failed(sessions.CodeMaxIterations)
	require.Equal(t, int64(25), int64(r.Err.Details["max"].(int)))
	require.Len(t, o.Requests(), 25)
	require.Len(t, ran, 2*24, "what the last model call asked for is not run")
	require.Equal(t, 25, w.Turns(at)[0].Iterations)
	for _, result := range lastResults(w.History(at)) {
		require.Equal(t, sessions.CodeCancelled, result.Error.Code)
	}
	require.Equal(t, sessions.StatusFailed, w.Session(at).Status)
	require.Equal(t, "fine", w.Say(at, "go on"))
}

func TestRequestLowersTheIterations(t *testing.T) {
	o := script(scripted.Step{Calls: []scripted.Call{{Path: "/t/one"}}, Repeat: true})
	w := world(t, o, mounts{"/t/one": output(`1`)}, func(p *actors.Profile) { p.MaxIterations = 4 })
	at := actortest.Key("a")
	w.Send(at, "work", func(p *actors.Prompt) { p.MaxIterations = 2 }).Failed(sessions.CodeMaxIterations)
	require.Len(t, o.Requests(), 2)
	r := w.Send(at, "work", func(p *actors.Prompt) { p.MaxIterations = 5 }).Failed(sessions.CodeInvalidRequest)
	require.Equal(t, "/args/maxIterations", r.Err.Details["field"])
	r = w.Send(at, "work", func(p *actors.Prompt) { p.PromptTimeoutMs = 1 << 40 }).Failed(sessions.CodeInvalidRequest)
	require.Equal(t, "/args/promptTimeoutMs", r.Err.Details["field"])
	require.Len(t, w.Turns(at), 1)
}
