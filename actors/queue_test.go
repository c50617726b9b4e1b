package actors_test

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// with gives a prompt a busy policy.
func with(policy sessions.BusyPolicy) actortest.Option {
	return func(p *actors.Prompt) { p.Busy = policy }
}

// users lists the texts of the user messages of a history.
func users(history []sessions.Message) []string {
	var texts []string
	for _, m := range history {
		if m.Role == sessions.RoleUser {
			texts = append(texts, sessions.TextOf(m.Content))
		}
	}
	return texts
}

// gatedWork answers "done" to work once the gate is open, "fine" to all else.
func gatedWork(gate <-chan struct{}) *scripted.StrictOracle {
	return script(scripted.Step{Gate: gate, Text: "done"})
}

// requireNoBusy requires that no turn counts as busy any more. A repeat may be
// answered from the store before the agent has heard of the end.
func requireNoBusy(t *testing.T, w *actortest.World) {
	t.Helper()
	w.Eventually(func() bool {
		_, busy := w.System.Counts()
		return busy == 0
	}, "that no turn is busy")
}

func TestQueuedPromptsRunInOrder(t *testing.T) {
	gate := make(chan struct{})
	o := gatedWork(gate)
	w := world(t, o, nil)
	at := actortest.Key("a")
	first := w.Send(at, "work")
	active := first.Accepted()
	var calls []*actortest.Call
	for i := range 5 {
		call := w.Send(at, "next "+strconv.Itoa(i), with(sessions.BusyQueue))
		took := call.Accepted()
		require.True(t, took.Waits)
		require.Equal(t, sessions.TurnIsQueued, took.Turn.Status)
		require.NotEqual(t, active.Turn.TurnID, took.Turn.TurnID)
		calls = append(calls, call)
	}
	_, busy := w.System.Counts()
	require.EqualValues(t, 6, busy)
	require.EqualValues(t, 5, w.Session(at).Queued)
	require.Len(t, w.History(at), 1, "what waits is no part of the history")
	close(gate)
	require.Equal(t, "done", first.Completed())
	for i, call := range calls {
		r := call.Reply()
		require.Nil(t, r.Err)
		require.False(t, r.Duplicate)
		require.EqualValues(t, 2*i+4, r.Final.Seq)
	}
	require.Equal(t, []string{"work", "next 0", "next 1", "next 2", "next 3", "next 4"}, users(w.History(at)))
	require.Len(t, o.Requests(), 6)
	requireNoBusy(t, w)
}

// However the turn before ends, the next one starts.
func TestQueuedPromptRunsAfterEveryEnd(t *testing.T) {
	ends := map[string]struct {
		step scripted.Step
		end  func(w *actortest.World, at sessions.Address)
		code sessions.Code
	}{
		"failure": {scripted.Step{Fail: "line cut"}, nil, sessions.CodeLLMAPIFailure},
		"cancel": {scripted.Step{}, func(w *actortest.World, at sessions.Address) {
			require.True(w.T, w.Cancel(at))
		}, sessions.CodeCancelled},
		"detach": {scripted.Step{}, func(w *actortest.World, at sessions.Address) {
			_, err := w.System.Detach(w.T.Context(), actors.Detach{Owner: actortest.Owner, At: at})
			require.NoError(w.T, err)
		}, sessions.CodeCancelled},
	}
	for name, c := range ends {
		t.Run(name, func(t *testing.T) {
			gate := make(chan struct{})
			c.step.Gate = gate
			w := world(t, script(c.step), nil)
			at := actortest.Key("a")
			first := w.Send(at, "work")
			first.Accepted()
			queued := w.Send(at, "next", with(sessions.BusyQueue))
			queued.Accepted()
			if c.end != nil {
				c.end(w, at)
			} else {
				close(gate)
			}
			first.Failed(c.code)
			require.Equal(t, "fine", queued.Completed())
			require.Equal(t, []string{"work", "next"}, users(w.History(at)))
			requireNoBusy(t, w)
		})
	}
}

// To a session that is not busy every policy is the same.
func TestEveryPolicyRunsInAnIdleSession(t *testing.T) {
	w := world(t, script(), nil)
	for _, policy := range sessions.BusyPolicies() {
		call := w.Send(actortest.Key("a"), "hello", with(policy))
		require.False(t, call.Accepted().Waits)
		require.Equal(t, "fine", call.Completed())
	}
	require.Len(t, w.Turns(actortest.Key("a")), 4)
}

func TestCase49FillTheQueuePastItsLimit(t *testing.T) {
	gate := make(chan struct{})
	o := gatedWork(gate)
	w := actortest.New(t, profiles(o), actortest.Config{Config: actors.Config{Limits: sessions.Limits{QueuedPrompts: 5}}})
	at := actortest.Key("a")
	first := w.Send(at, "work")
	first.Accepted()
	const prompts = 20
	replies := make(chan actors.PromptReply, prompts)
	var all sync.WaitGroup
	for i := range prompts {
		call := w.Send(at, "next "+strconv.Itoa(i), with(sessions.BusyQueue), actortest.As(sessions.RequestID("r"+strconv.Itoa(i))))
		all.Go(func() { replies <- call.Reply() })
	}
	refused := 0
	for range prompts - 5 {
		r := <-replies
		require.Equal(t, sessions.CodeAgentBusy, r.Err.Code)
		refused++
	}
	close(gate)
	require.Equal(t, "done", first.Completed())
	all.Wait()
	for range 5 {
		require.Nil(t, (<-replies).Err)
	}
	require.Equal(t, prompts-5, refused)
	require.Len(t, o.Requests(), 6)
	// A request id that was refused is not used up.
	for i := range prompts {
		require.Equal(t, "fine", w.Say(at, "next "+strconv.Itoa(i), actortest.As(sessions.RequestID("r"+strconv.Itoa(i)))))
	}
	require.Len(t, o.Requests(), 1+prompts)
	requireNoBusy(t, w)
}

func TestQueuedTurnsCountAsBusy(t *testing.T) {
	gate := make(chan struct{})
	w := actortest.New(t, profiles(gatedWork(gate)), actortest.Config{Config: actors.Config{Limits: sessions.Limits{BusyTurns: 2}}})
	at := actortest.Key("a")
	first := w.Send(at, "work")
	first.Accepted()
	second := w.Send(at, "next", with(sessions.BusyQueue))
	second.Accepted()
	w.Send(at, "too many", with(sessions.BusyQueue)).Failed(sessions.CodeOverloaded)
	w.Send(actortest.Key("b"), "hello").Failed(sessions.CodeOverloaded)
	close(gate)
	first.Completed()
	second.Completed()
	require.Equal(t, "fine", w.Say(actortest.Key("b"), "hello"))
	requireNoBusy(t, w)
}

func TestRepeatOfAQueuedPromptJoinsIt(t *testing.T) {
	gate := make(chan struct{})
	o := gatedWork(gate)
	w := world(t, o, nil)
	at := actortest.Key("a")
	first := w.Send(at, "work")
	first.Accepted()
	queued := w.Send(at, "next", with(sessions.BusyQueue), actortest.As("q"))
	took := queued.Accepted()
	again := w.Send(at, "next", actortest.As("q")) // the policy is no part of what is asked
	joined := again.Accepted()
	require.True(t, joined.Duplicate)
	require.True(t, joined.Waits)
	require.Equal(t, took.Turn.TurnID, joined.Turn.TurnID)
	w.Send(at, "other", with(sessions.BusyQueue), actortest.As("q")).Failed(sessions.CodeRequestConflict)
	close(gate)
	first.Completed()
	a, b := queued.Reply(), again.Reply()
	require.Nil(t, a.Err)
	require.True(t, b.Duplicate)
	b.Duplicate = false
	require.Equal(t, a, b)
	stored := w.Send(at, "next", with(sessions.BusyQueue), actortest.As("q")).Reply()
	require.True(t, stored.Duplicate)
	require.Equal(t, a.Final, stored.Final)
	require.Len(t, o.Requests(), 2)
	requireNoBusy(t, w)
}

func TestCancelWithdrawsAQueuedPrompt(t *testing.T) {
	gate := make(chan struct{})
	w := world(t, gatedWork(gate), nil)
	at := actortest.Key("a")
	first := w.Send(at, "work", actortest.As("r"))
	first.Accepted()
	stream := w.System.Feed().NewStream()
	defer stream.Close()
	gone := w.Send(at, "gone", with(sessions.BusyQueue), actortest.As("q1"), actortest.Following(stream))
	took := gone.Accepted()
	stays := w.Send(at, "stays", with(sessions.BusyQueue), actortest.As("q2"))
	stays.Accepted()
	require.True(t, cancelRequest(t, w, at, "q1"))
	r := gone.Failed(sessions.CodeCancelled)
	require.Equal(t, took.Turn.TurnID, r.Turn.TurnID)
	require.Equal(t, sessions.TurnIsCancelled, r.Turn.Status)
	f, err := stream.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, sessions.FrameCancelled, f.Type())
	require.Equal(t, took.Turn.TurnID, f.TurnID)
	require.False(t, cancelRequest(t, w, at, "q1"))
	require.False(t, cancelRequest(t, w, at, "unknown"))
	w.Send(at, "gone", actortest.As("q1")).Failed(sessions.CodeCancelled)
	close(gate)
	require.Equal(t, "done", first.Completed())
	require.Equal(t, "fine", stays.Completed())
	require.Equal(t, []string{"work", "stays"}, users(w.History(at)))
	requireNoBusy(t, w)
}

func cancelRequest(t *testing.T, w *actortest.World, at sessions.Address, id sessions.RequestID) bool {
	t.Helper()
	did, err := w.System.Cancel(t.Context(), actors.Cancel{Owner: actortest.Owner, At: at, RequestID: id})
	require.NoError(t, err)
	return did
}

// What a prompt's stream shows are the frames of its own turn, from the first.
func TestStreamOfAQueuedPrompt(t *testing.T) {
	gate := make(chan struct{})
	w := world(t, gatedWork(gate), nil)
	at := actortest.Key("a")
	first := w.Send(at, "work")
	first.Accepted()
	stream := w.System.Feed().NewStream()
	defer stream.Close()
	queued := w.Send(at, "next", with(sessions.BusyQueue), actortest.Following(stream))
	took := queued.Accepted()
	after := w.Send(at, "after", with(sessions.BusyQueue))
	after.Accepted()
	close(gate)
	after.Completed()
	var seen []sessions.Frame
	for len(seen) == 0 || !seen[len(seen)-1].Type().Terminal() {
		f, err := stream.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, took.Turn.TurnID, f.TurnID)
		if f.Seq > 0 {
			seen = append(seen, f)
		}
	}
	require.Equal(t, []sessions.FrameType{sessions.FrameAccepted, sessions.FrameStarted, sessions.FrameMessage,
		sessions.FrameText, sessions.FrameUsage, sessions.FrameMessage, sessions.FrameCompleted}, typesOf(seen))
	require.Positive(t, seen[0].Body.(sessions.Accepted).QueuedMs)
}

func TestAwaitTurnOfAQueuedTurn(t *testing.T) {
	gate := make(chan struct{})
	w := world(t, gatedWork(gate), nil)
	at := actortest.Key("a")
	w.Send(at, "work").Accepted()
	id := w.Send(at, "next", with(sessions.BusyQueue)).Accepted().Turn.TurnID
	s := w.Session(at)
	got := make(chan sessions.Turn, 1)
	go func() {
		turn, err := w.System.AwaitTurn(context.Background(), s, id)
		if err == nil {
			got <- turn
		}
		close(got)
	}()
	close(gate)
	turn := <-got
	require.Equal(t, id, turn.TurnID)
	require.Equal(t, sessions.TurnIsCompleted, turn.Status)
}
