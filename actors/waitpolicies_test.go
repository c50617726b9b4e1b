package actors_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/sessions"
)

// residencies run a test with the session of the turn that waits in memory and not.
func residencies(t *testing.T, test func(t *testing.T, w *actortest.World, at sessions.Address, call *actortest.Call, pending []sessions.Pending)) {
	t.Helper()
	for name, evicted := range map[string]bool{"resident": false, "evicted": true} {
		t.Run(name, func(t *testing.T) {
			var options []actortest.Option
			if evicted {
				options = append(options, nobodyWaits)
			}
			w := waitingWorld(t, shortTTL)
			at := actortest.Key("a")
			call, pending := waitingWork(w, at, options...)
			if evicted {
				awaitEvicted(w, at)
			}
			test(t, w, at, call, pending)
		})
	}
}

// answerAll answers what waitingWorld's turns wait for.
func answerAll(w *actortest.World, at sessions.Address, pending []sessions.Pending) {
	w.T.Helper()
	mustAnswer(w, at, pending[0].CallID, gives(`"mine"`))
	mustAnswer(w, at, pending[1].CallID, approves(true))
}

func TestRejectedWhileATurnWaits(t *testing.T) {
	residencies(t, func(t *testing.T, w *actortest.World, at sessions.Address, _ *actortest.Call, pending []sessions.Pending) {
		t.Helper()
		w.Send(at, "hello").Failed(sessions.CodeAgentBusy)
		answerAll(w, at, pending)
		require.Equal(t, "fine", w.Say(at, "hello", with(sessions.BusyQueue)))
		requireOutputs(t, lastResults(w.History(at)), `"mine"`, `"written"`, `1`)
	})
}

func TestQueuedBehindATurnThatWaits(t *testing.T) {
	residencies(t, func(t *testing.T, w *actortest.World, at sessions.Address, _ *actortest.Call, pending []sessions.Pending) {
		t.Helper()
		queued := w.Send(at, "hello", with(sessions.BusyQueue), untilWaiting)
		require.True(t, queued.Accepted().Waits)
		require.Equal(t, sessions.StatusWaiting, w.Session(at).Status)
		answerAll(w, at, pending)
		require.Equal(t, "fine", queued.Completed())
		require.Equal(t, []string{"work", "hello"}, users(w.History(at)))
		requireNoBusy(t, w)
	})
}

func TestInterruptOfATurnThatWaits(t *testing.T) {
	residencies(t, func(t *testing.T, w *actortest.World, at sessions.Address, call *actortest.Call, pending []sessions.Pending) {
		t.Helper()
		require.Equal(t, "fine", w.Say(at, "hello", with(sessions.BusyInterrupt)))
		if call.Prompt.Gone == nil {
			call.Failed(sessions.CodeCancelled)
		}
		requireNotAnswered(w, at, pending[0].CallID, gives(`1`), sessions.CodeNotFound)
		require.Equal(t, sessions.TurnIsCancelled, w.Turns(at)[0].Status)
		requireNoBusy(t, w)
	})
}

// Text stays aside while the turn waits, and enters behind the results.
func TestSteerOfATurnThatWaits(t *testing.T) {
	residencies(t, func(t *testing.T, w *actortest.World, at sessions.Address, _ *actortest.Call, pending []sessions.Pending) {
		t.Helper()
		steering := w.Send(at, "left", with(sessions.BusySteer))
		steering.Accepted()
		other := w.Send(at, "right", with(sessions.BusySteer), nobodyWaits)
		other.Accepted()
		require.EqualValues(t, 2, w.Session(at).MessageCount)
		answerAll(w, at, pending)
		require.Equal(t, "fine", steering.Completed())
		require.Equal(t, []sessions.Role{
			sessions.RoleUser, sessions.RoleAssistant, sessions.RoleTool, sessions.RoleTool, sessions.RoleTool,
			sessions.RoleUser, sessions.RoleUser, sessions.RoleAssistant,
		}, roles(w.History(at)))
	})
}

// Text that nobody waits for does not keep a session in memory either.
func TestSteerOfATurnThatWaitsSurvivesEviction(t *testing.T) {
	w := waitingWorld(t, shortTTL)
	at := actortest.Key("a")
	_, pending := waitingWork(w, at, nobodyWaits)
	w.Send(at, "left", with(sessions.BusySteer), actortest.As("s"), nobodyWaits).Accepted()
	awaitEvicted(w, at)
	answerAll(w, at, pending)
	r := w.Send(at, "left", with(sessions.BusySteer), actortest.As("s")).Reply()
	require.Nil(t, r.Err)
	require.True(t, r.Duplicate)
	require.Equal(t, []string{"work", "left"}, users(w.History(at)))
}

func TestASideQuestionWhileATurnWaits(t *testing.T) {
	residencies(t, func(t *testing.T, w *actortest.World, at sessions.Address, _ *actortest.Call, pending []sessions.Pending) {
		t.Helper()
		require.Equal(t, "fine", asking(w, at, "why?").answered())
		answerAll(w, at, pending)
		require.Equal(t, "fine", w.Say(at, "hello", with(sessions.BusyQueue)))
	})
}

// A caller who asks for it is answered when the turn waits, and so is one who joins.
func TestAnsweredWhenTheTurnWaits(t *testing.T) {
	residencies(t, func(t *testing.T, w *actortest.World, at sessions.Address, call *actortest.Call, pending []sessions.Pending) {
		t.Helper()
		id := call.Prompt.Request.ID
		joined := w.Send(at, "work", actortest.As(id), untilWaiting).Reply()
		require.Nil(t, joined.Err)
		require.True(t, joined.Duplicate)
		require.Equal(t, sessions.TurnIsWaiting, joined.Turn.Status)
		require.Equal(t, pending, joined.Pending)
		mustAnswer(w, at, pending[0].CallID, gives(`"mine"`))
		joined = w.Send(at, "work", actortest.As(id), untilWaiting).Reply()
		require.Equal(t, pending[1:], joined.Pending)
		steering := w.Send(at, "left", with(sessions.BusySteer), untilWaiting).Reply()
		require.Nil(t, steering.Err)
		require.Equal(t, pending[1:], steering.Pending)
		mustAnswer(w, at, pending[1].CallID, approves(true))
		joined = w.Send(at, "work", actortest.As(id), untilWaiting).Reply()
		require.Nil(t, joined.Err)
		require.Equal(t, sessions.TurnIsCompleted, joined.Turn.Status)
		require.Empty(t, joined.Pending)
	})
}

func TestThePromptItselfIsAnsweredWhenItsTurnWaits(t *testing.T) {
	w := waitingWorld(t)
	at := actortest.Key("a")
	call := w.Send(at, "work", untilWaiting)
	r := call.Reply()
	require.Nil(t, r.Err)
	require.Equal(t, sessions.TurnIsWaiting, r.Turn.Status)
	require.Len(t, r.Pending, 2)
	require.Equal(t, 1, r.Turn.Iterations)
	s := w.Session(at)
	require.Equal(t, s.Pending, r.Pending)
	turn, open, err := w.System.AwaitPending(t.Context(), s, r.Turn.TurnID)
	require.NoError(t, err)
	require.Equal(t, s.Pending, open)
	require.Equal(t, sessions.TurnIsWaiting, turn.Status)
	answerAll(w, at, r.Pending)
	turn, err = w.System.AwaitTurn(t.Context(), s, r.Turn.TurnID)
	require.NoError(t, err)
	require.Equal(t, sessions.TurnIsCompleted, turn.Status)
	turn, open, err = w.System.AwaitPending(t.Context(), s, r.Turn.TurnID)
	require.Empty(t, open)
	require.NoError(t, err)
	require.Equal(t, sessions.TurnIsCompleted, turn.Status)
	require.Equal(t, "fine", w.Say(at, "hello", untilWaiting))
}

// Who awaits a turn that is to wait hears of it, also behind another turn.
func TestAwaitPendingOfAQueuedTurn(t *testing.T) {
	w := waitingWorld(t)
	at := actortest.Key("a")
	_, pending := waitingWork(w, at)
	queued := w.Send(at, "more work", with(sessions.BusyQueue)).Accepted()
	heard := make(chan sessions.Turn, 1)
	s := w.Session(at)
	go func() {
		turn, _, _ := w.System.AwaitPending(t.Context(), s, queued.Turn.TurnID)
		heard <- turn
	}()
	answerAll(w, at, pending)
	turn := <-heard
	require.Equal(t, sessions.TurnIsWaiting, turn.Status)
	require.Equal(t, queued.Turn.TurnID, turn.TurnID)
	require.True(t, w.Cancel(at))
}

// Callers of turns that wait do not fill the edge.
func TestCallersOfTurnsThatWaitAreLetOut(t *testing.T) {
	w := actortest.New(t, profiles(script(calls("/ui/ask"), text("done")), guarded),
		actortest.Config{Config: actors.Config{Limits: sessions.Limits{BusyTurns: 1}}})
	var all []*actortest.Call
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		call, _ := waitingWork(w, actortest.Key(name))
		all = append(all, call)
		requireNoBusy(t, w) // the place is free a moment after the wait is stored
	}
	for _, call := range all {
		at := call.Prompt.At
		mustAnswer(w, at, w.Session(at).Pending[0].CallID, gives(`1`)) // going on is never refused
	}
	for _, call := range all {
		require.Equal(t, "done", call.Completed())
	}
	requireNoBusy(t, w)
}

// The call of a parent goes on waiting while its child's turn waits.
func TestAChildThatWaits(t *testing.T) {
	o := family(acts("delegate", asks(`{"prompt":"work"}`), text("told")), acts("work", calls("/ui/ask"), text("done")))
	w := actortest.New(t, profiles(o, delegating, func(p *actors.Profile) { guarded(p) }), actortest.Config{})
	at := actortest.Key("a")
	call := w.Send(at, "delegate")
	call.Accepted()
	w.Eventually(func() bool { return len(refsOf(t, w, at)) == 1 }, "that there is a child")
	child := actortest.ID(refsOf(t, w, at)[0].SessionID)
	pending := awaitWaiting(w, child)
	require.Equal(t, sessions.StatusRunning, w.Session(at).Status)
	mustAnswer(w, child, pending[0].CallID, gives(`1`))
	require.Equal(t, "told", call.Completed())

	call = w.Send(at, "delegate")
	call.Accepted()
	w.Eventually(func() bool { return len(refsOf(t, w, at)) == 2 }, "that there is another child")
	child = actortest.ID(refsOf(t, w, at)[1].SessionID)
	awaitWaiting(w, child)
	require.True(t, w.Cancel(at))
	call.Failed(sessions.CodeCancelled)
	w.Eventually(func() bool { return w.Session(child).Status == sessions.StatusIdle }, "that the child's turn is cancelled too")
}
