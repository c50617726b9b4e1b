package actors_test

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
)

func TestCase13CancelInMidTool(t *testing.T) {
	started := make(chan struct{}, 1)
	w := world(t, script(calls("/t/hang"), text("done")), mounts{"/t/hang": hang(started)})
	at := actortest.Key("a")
	call := w.Send(at, "work")
	<-started
	require.True(t, w.Cancel(at))
	r := call.Failed(sessions.CodeCancelled)
	require.Equal(t, sessions.TurnIsCancelled, r.Turn.Status)
	require.EqualValues(t, r.Turn.TurnID, r.Err.Details["turnId"])
	require.Equal(t, sessions.CodeCancelled, requireResultOfEach(t, w, at, 1)[0].Error.Code)
	s := w.Session(at)
	require.Equal(t, sessions.StatusIdle, s.Status)
	require.Nil(t, s.LastError)
	require.Equal(t, "fine", w.Say(at, "go on"))
	require.False(t, w.Cancel(at))
}

func TestCase13TimeOutInMidTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := make(chan struct{}, 1)
		w := actortest.NewInBubble(t, profiles(script(calls("/t/hang"), text("done"))), actortest.Config{
			Config: actors.Config{Tools: treeOf(t, mounts{"/t/hang": hang(started)})},
		})
		at := actortest.Key("a")
		began := time.Now()
		r := w.Send(at, "work", func(p *actors.Prompt) { p.PromptTimeoutMs = 90_000 }).Failed(sessions.CodeAgentTimeout)
		require.Equal(t, 90*time.Second, time.Since(began))
		require.EqualValues(t, 90_000, r.Err.Details["max"])
		requireResultOfEach(t, w, at, 1)
		require.Equal(t, sessions.StatusFailed, w.Session(at).Status)
		require.Equal(t, "fine", w.Say(at, "go on"))
		synctest.Wait()
		_, busy := w.System.Counts()
		require.Zero(t, busy)
	})
}

func TestCase12CancelAfterTwoOfThreeResults(t *testing.T) {
	started := make(chan struct{}, 1)
	stream := make(chan sessions.Frame, 100)
	w := world(t, script(calls("/t/one", "/t/hang", "/t/two"), text("done")),
		mounts{"/t/one": output(`1`), "/t/two": output(`2`), "/t/hang": hang(started)})
	at := actortest.Key("a")
	sub := w.System.Feed().NewStream()
	defer sub.Close()
	call := w.Send(at, "work", actortest.Following(sub))
	for results := 0; results < 2; {
		f, err := sub.Next(t.Context())
		require.NoError(t, err)
		if f.Type() == sessions.FrameToolResult {
			results++
		}
		stream <- f
	}
	<-started
	require.True(t, w.Cancel(at))
	call.Failed(sessions.CodeCancelled)
	results := requireResultOfEach(t, w, at, 3)
	require.JSONEq(t, `1`, string(results[0].Content[0].Value))
	require.Equal(t, sessions.CodeCancelled, results[1].Error.Code)
	require.JSONEq(t, `2`, string(results[2].Content[0].Value))
	require.Equal(t, "fine", w.Say(at, "go on"))
}

func TestCutTextIsKeptInterrupted(t *testing.T) {
	cuts := map[string]struct {
		step scripted.Step
		code sessions.Code
	}{
		"cancel":  {scripted.Step{Text: "half a", Hang: true}, sessions.CodeCancelled},
		"timeout": {scripted.Step{Text: "half a", Hang: true}, sessions.CodeAgentTimeout},
		"failure": {scripted.Step{Text: "half a", Fail: "line cut"}, sessions.CodeLLMAPIFailure},
		"calls":   {scripted.Step{Text: "half a", Calls: []scripted.Call{{Path: "/t/x"}}, Fail: "line cut"}, sessions.CodeLLMAPIFailure},
	}
	for name, c := range cuts {
		t.Run(name, func(t *testing.T) {
			w := world(t, script(c.step), nil)
			at := actortest.Key("a")
			sub := w.System.Feed().NewStream()
			defer sub.Close()
			call := w.Send(at, "work", actortest.Following(sub), func(p *actors.Prompt) {
				if name == "timeout" {
					p.PromptTimeoutMs = 200
				}
			})
			for f := (sessions.Frame{Body: sessions.Started{}}); f.Type() != sessions.FrameDelta && f.Type() != sessions.FrameText; {
				var err error
				f, err = sub.Next(t.Context())
				require.NoError(t, err)
			}
			if name == "cancel" {
				require.True(t, w.Cancel(at))
			}
			call.Failed(c.code)
			history := w.History(at)
			require.Len(t, history, 2)
			require.True(t, history[1].Interrupted)
			require.Equal(t, "half a", sessions.TextOf(history[1].Content))
			require.Empty(t, history[1].ToolCalls)
			require.Equal(t, "fine", w.Say(at, "go on"))
		})
	}
}

func TestNothingIsKeptOfAnEmptyAnswer(t *testing.T) {
	w := world(t, script(scripted.Step{Hang: true}), nil)
	at := actortest.Key("a")
	call := w.Send(at, "work")
	call.Accepted()
	require.True(t, w.Cancel(at))
	call.Failed(sessions.CodeCancelled)
	require.Len(t, w.History(at), 1)
}

// Streamed text is durable soon although the model call goes on.
func TestTextBecomesDurableWhileItIsStreamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := scripted.Step{Hang: true}
		for range 10 {
			step.Deltas = append(step.Deltas, scripted.Delta{After: 200 * time.Millisecond, Text: "word "})
		}
		w := actortest.NewInBubble(t, profiles(script(step)), actortest.Config{})
		at := actortest.Key("a")
		call := w.Send(at, "work")
		call.Accepted()
		time.Sleep(1300 * time.Millisecond)
		synctest.Wait()
		kept := ""
		for _, f := range w.Frames(at) {
			if part, ok := f.Body.(sessions.TextPart); ok {
				require.EqualValues(t, len(kept), part.Offset)
				kept += part.Text
			}
		}
		require.Equal(t, strings.Repeat("word ", 6), kept+"")
		time.Sleep(time.Minute)
		require.True(t, w.Cancel(at))
		call.Failed(sessions.CodeCancelled)
		require.Equal(t, strings.Repeat("word ", 10), sessions.TextOf(w.History(at)[1].Content))
		parts := 0
		for _, f := range w.Frames(at) {
			if f.Type() == sessions.FrameText {
				parts++
			}
		}
		require.Less(t, parts, 8, "not a frame for each delta")
	})
}

// oracleFunc is an oracle that is one function.
type oracleFunc func(ctx context.Context, r oracle.Request, yield func(oracle.Part, error) bool)

func (oracleFunc) Name() string { return "func" }

func (f oracleFunc) Infer(ctx context.Context, r oracle.Request) iter.Seq2[oracle.Part, error] {
	return func(yield func(oracle.Part, error) bool) { f(ctx, r, yield) }
}

func isWork(r oracle.Request) bool {
	return sessions.TextOf(r.Messages[len(r.Messages)-1].Content) == "work"
}

func TestPanicOfAnOracleEndsItsTurn(t *testing.T) {
	w := world(t, oracleFunc(func(_ context.Context, r oracle.Request, yield func(oracle.Part, error) bool) {
		if yield(oracle.TextDelta{Text: "so far"}, nil) && isWork(r) {
			panic("a secret")
		}
	}), nil)
	at := actortest.Key("a")
	r := w.Send(at, "work").Failed(sessions.CodeInternal)
	require.NotContains(t, r.Err.Message, "secret")
	require.True(t, w.History(at)[1].Interrupted)
	require.Equal(t, "so far", w.Say(at, "again"))
}

// A raw error of an oracle without a code goes to the log only.
func TestErrorOfAnOracleIsHidden(t *testing.T) {
	w := world(t, oracleFunc(func(_ context.Context, _ oracle.Request, yield func(oracle.Part, error) bool) {
		yield(nil, context.DeadlineExceeded)
	}), nil)
	r := w.Send(actortest.Key("a"), "work").Failed(sessions.CodeLLMAPIFailure)
	require.NotContains(t, r.Err.Message, "deadline")
	require.NotContains(t, r.Turn.Error.Message, "deadline")
}

func TestEmptyAnswerIsAFailure(t *testing.T) {
	w := world(t, script(scripted.Step{}), nil)
	at := actortest.Key("a")
	r := w.Send(at, "work").Failed(sessions.CodeLLMAPIFailure)
	require.EqualValues(t, 1, r.Turn.Usage.Calls)
	require.Len(t, w.History(at), 1)
	require.Equal(t, "fine", w.Say(at, "go on"))
}

// The turn ends at once; its session waits for the tool a while before it is
// free of it, and is promptable all the same.
func TestToolThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := make(chan struct{}, 1)
		tree := treeOf(t, mounts{"/t/deaf": invoke(func(context.Context, tools.Call) (json.RawMessage, error) {
			started <- struct{}{}
			time.Sleep(time.Hour)
			return nil, nil
		})})
		w := actortest.NewInBubble(t, profiles(script(calls("/t/deaf"), text("done")), func(p *actors.Profile) {
			p.IdleTTL = time.Second
		}), actortest.Config{Config: actors.Config{Tools: tree}})
		at := actortest.Key("a")
		call := w.Send(at, "work")
		<-started
		began := time.Now()
		require.True(t, w.Cancel(at))
		call.Failed(sessions.CodeCancelled)
		require.Equal(t, "fine", w.Say(at, "go on"))
		require.Zero(t, time.Since(began))
		requireResultOfEach(t, w, at, 1)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.False(t, w.Resident(at), "the tool is given up")
		time.Sleep(time.Hour) // for the bubble's sake
	})
}

func TestCallTimesOutAndTheTurnGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := make(chan struct{}, 1)
		w := actortest.NewInBubble(t, profiles(script(calls("/t/hang", "/t/one"), text("done")), func(p *actors.Profile) {
			p.ToolTimeout = 7 * time.Second
		}), actortest.Config{Config: actors.Config{Tools: treeOf(t, mounts{"/t/hang": hang(started), "/t/one": output(`1`)})}})
		at := actortest.Key("a")
		began := time.Now()
		require.Equal(t, "done", w.Say(at, "work"))
		require.Equal(t, 7*time.Second, time.Since(began))
		results := requireResultOfEach(t, w, at, 2)
		require.Equal(t, sessions.CodeToolInvokeFailed, results[0].Error.Code)
		require.JSONEq(t, `1`, string(results[1].Content[0].Value))
	})
}
