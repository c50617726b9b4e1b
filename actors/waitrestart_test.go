package actors_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/sessions"
)

// waitedOut returns what restarting tests begin with: a host whose turn waits.
func waitedOut(t *testing.T, change ...func(*actors.Profile)) (w *actortest.World, again func() *actortest.World, ran *atomic.Int64) {
	t.Helper()
	ran = &atomic.Int64{}
	p := profiles(script(calls("/ui/ask", "/t/guarded/write", "/t/one"), text("done")), append(change, guarded)...)
	tree := treeOf(t, mounts{"/t/guarded/write": counting(ran, `"written"`), "/t/one": counting(ran, `1`)})
	w = actortest.Open(t, p, actortest.Config{Config: actors.Config{Tools: tree}})
	return w, func() *actortest.World { return cutAndReopen(t, w, p, tree) }, ran
}

// A turn that waits is not held up by a stop of the host, and goes on waiting after
// it; the same request joins, and answers let it go on.
func TestATurnWaitsAcrossARestart(t *testing.T) {
	w, reopen, ran := waitedOut(t)
	at := actortest.Key("a")
	call, pending := waitingWork(w, at, actortest.As("r"))
	mustAnswer(w, at, pending[0].CallID, gives(`"mine"`))
	w = reopen()
	r := call.Failed(sessions.CodeHostStopping)
	require.Equal(t, w.Turns(at)[0].TurnID, r.Err.Details["turnId"])
	require.False(t, w.Resident(at))
	require.Equal(t, pending[1:], w.Session(at).Pending)
	joined := w.Send(at, "work", actortest.As("r"))
	joined.Accepted()
	require.True(t, mustAnswer(w, at, pending[0].CallID, gives(`"mine"`)).Repeat)
	mustAnswer(w, at, pending[1].CallID, approves(true))
	require.Equal(t, "done", joined.Completed())
	requireOutputs(t, lastResults(w.History(at)), `"mine"`, `"written"`, `1`)
	require.EqualValues(t, 2, ran.Load(), "each tool ran once")
	require.Zero(t, w.Turns(at)[0].Attempts)
	require.Equal(t, "fine", w.Say(at, "hello"))
}

func TestStopHasNoGraceForATurnThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := actortest.NewInBubble(t, profiles(script(calls("/ui/ask"), text("done")), guarded), actortest.Config{Grace: time.Hour})
		call, _ := waitingWork(w, actortest.Key("a"))
		began := time.Now()
		w.Close()
		require.Less(t, time.Since(began), time.Minute)
		call.Failed(sessions.CodeHostStopping)
	})
}

// A turn that begins to wait while the host stops is left at once.
func TestATurnThatBeginsToWaitDuringAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		w := actortest.NewInBubble(t, profiles(script(calls("/t/gated", "/ui/ask"), text("done")), guarded),
			actortest.Config{Grace: time.Hour, Config: actors.Config{Tools: treeOf(t, mounts{"/t/gated": gated(gate)})}})
		call := w.Send(actortest.Key("a"), "work")
		call.Accepted()
		asked := w.Send(actortest.Key("b"), "work", untilWaiting)
		asked.Accepted()
		time.AfterFunc(time.Minute, func() { close(gate) })
		began := time.Now()
		w.Close()
		require.Less(t, time.Since(began), 2*time.Minute)
		call.Failed(sessions.CodeHostStopping)
		require.Len(t, asked.Reply().Pending, 1)
	})
}

// withoutGoOn is a store that takes no commit by which a turn goes on.
type withoutGoOn struct{ sessions.Store }

func (s withoutGoOn) CommitTurn(ctx context.Context, c sessions.CommitTurn) (sessions.CommittedTurn, error) {
	if c.GoOn {
		return sessions.CommittedTurn{}, sessions.ErrOutcomeUnknown
	}
	return s.Store.CommitTurn(ctx, c)
}

// What was answered before the stop, and did not go on, does so at the start.
func TestAnAnsweredTurnGoesOnAtTheStart(t *testing.T) {
	p := profiles(script(calls("/ui/ask"), text("done")), guarded)
	w := actortest.Open(t, p, actortest.Config{Wrap: func(s sessions.Store) sessions.Store { return withoutGoOn{s} }})
	at := actortest.Key("a")
	_, pending := waitingWork(w, at, actortest.As("r"))
	mustAnswer(w, at, pending[0].CallID, gives(`1`))
	w = cutAndReopen(t, w, p, nil)
	w.Eventually(func() bool { return w.Turns(at)[0].Status == sessions.TurnIsCompleted }, "that the turn goes on by itself")
	require.Equal(t, "done", w.Send(at, "work", actortest.As("r")).Completed())
}

// The limit of a wait counts from its beginning, across restarts.
func TestTheLimitOfAWaitHoldsAcrossARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := profiles(script(calls("/ui/ask"), text("done")), guarded, func(p *actors.Profile) { p.WaitTimeout = time.Hour })
		w := actortest.NewInBubble(t, p, actortest.Config{})
		at := actortest.Key("a")
		waitingWork(w, at, actortest.As("r"))
		w.Close()
		time.Sleep(50 * time.Minute)
		w = actortest.NewInBubble(t, p, actortest.Config{Path: w.Path})
		require.NoError(t, w.System.Recover(t.Context()))
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		require.Equal(t, sessions.TurnIsFailed, w.Turns(at)[0].Status)
		require.Equal(t, sessions.CodeAgentTimeout, w.Turns(at)[0].Error.Code)
	})
}

// A wait does not count as running time after a restart either.
func TestTheClockAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := profiles(script(calls("/ui/ask"), calls("/t/hang")), guarded, func(p *actors.Profile) {
			p.PromptTimeout, p.Repeatable = 10*time.Second, []string{"/t"}
		})
		started := make(chan struct{}, 2)
		tree := treeOf(t, mounts{"/t/hang": hang(started)})
		w := actortest.NewInBubble(t, p, actortest.Config{Config: actors.Config{Tools: tree}})
		at := actortest.Key("a")
		_, pending := waitingWork(w, at)
		time.Sleep(time.Hour)
		mustAnswer(w, at, pending[0].CallID, gives(`1`))
		<-started
		time.Sleep(4 * time.Second)
		w.Close()
		w = actortest.NewInBubble(t, p, actortest.Config{Path: w.Path, Config: actors.Config{Tools: tree}})
		require.NoError(t, w.System.Recover(t.Context()))
		<-started
		time.Sleep(9 * time.Second)
		synctest.Wait()
		require.Equal(t, sessions.TurnIsRunning, w.Turns(at)[0].Status)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, sessions.TurnIsFailed, w.Turns(at)[0].Status)
	})
}

// Prompts behind a turn that waits have their agent after a restart, and so has
// one that was to interrupt it.
func TestQueuedBehindATurnThatWaitsAcrossARestart(t *testing.T) {
	w, reopen, _ := waitedOut(t)
	at := actortest.Key("a")
	_, pending := waitingWork(w, at)
	w.Send(at, "hello", with(sessions.BusyQueue), actortest.As("q")).Accepted()
	w = reopen()
	w.Eventually(func() bool { return w.Resident(at) }, "that the agent is there for the queue")
	answerAll(w, at, pending)
	require.Equal(t, "fine", w.Send(at, "hello", with(sessions.BusyQueue), actortest.As("q")).Completed())
	require.Equal(t, sessions.TurnIsCompleted, w.Turns(at)[0].Status)
	requireNoBusy(t, w)
}

// A call that was approved and cut by a stop is not asked about again: it is run
// again when that does no harm, and its turn is interrupted when it may.
func TestAnApprovedCallCutByAStop(t *testing.T) {
	for name, twice := range map[string]bool{"repeatable": true, "not repeatable": false} {
		t.Run(name, func(t *testing.T) {
			started := make(chan struct{}, 1)
			p := profiles(script(calls("/ui/ask", "/t/guarded/hang"), text("done")), guarded, func(p *actors.Profile) {
				if twice {
					p.Repeatable = []string{"/t"}
				}
			})
			w := actortest.Open(t, p, actortest.Config{Config: actors.Config{Tools: treeOf(t, mounts{"/t/guarded/hang": hang(started)})}})
			at := actortest.Key("a")
			_, pending := waitingWork(w, at, actortest.As("r"))
			answerAll(w, at, pending)
			<-started
			w = cutAndReopen(t, w, p, treeOf(t, mounts{"/t/guarded/hang": output(`"again"`)}))
			again := w.Send(at, "work", actortest.As("r"))
			if twice {
				require.Equal(t, "done", again.Completed())
				requireOutputs(t, lastResults(w.History(at)), `"mine"`, `"again"`)
			} else {
				again.Failed(sessions.CodeHostRestarted)
				requireOutputs(t, lastResults(w.History(at)), `"mine"`, "")
			}
		})
	}
}

// A call that was not asked about before the stop is asked about after it.
func TestACallThatWasNotYetAskedAbout(t *testing.T) {
	started := make(chan struct{}, 1)
	p := profiles(script(calls("/ui/ask", "/t/again", "/t/guarded/write"), text("done")), guarded, func(p *actors.Profile) {
		p.Repeatable = []string{"/t/again"}
	})
	w := actortest.Open(t, p, actortest.Config{Config: actors.Config{
		Tools: treeOf(t, mounts{"/t/again": hang(started), "/t/guarded/write": output(`"written"`)}),
	}})
	at := actortest.Key("a")
	w.Send(at, "work", actortest.As("r")).Accepted()
	<-started
	w = cutAndReopen(t, w, p, treeOf(t, mounts{"/t/again": output(`"again"`), "/t/guarded/write": output(`"written"`)}))
	pending := awaitWaiting(w, at)
	require.Len(t, pending, 2)
	answerAll(w, at, pending)
	require.Equal(t, "done", w.Send(at, "work", actortest.As("r")).Completed())
	requireOutputs(t, lastResults(w.History(at)), `"mine"`, `"again"`, `"written"`)
}

// A profile that is gone keeps nobody from answering or cancelling; only going on
// needs it.
func TestATurnThatWaitsForAProfileThatIsGone(t *testing.T) {
	w, _, _ := waitedOut(t)
	one, two := actortest.Key("a"), actortest.Key("b")
	_, pending := waitingWork(w, one, actortest.As("r"))
	waitingWork(w, two)
	w = cutAndReopen(t, w, actortest.Profiles{"other": {Oracle: script()}}, nil)
	require.Equal(t, sessions.StatusWaiting, w.Session(one).Status)
	answerAll(w, one, pending)
	w.Eventually(func() bool { return w.Session(one).Status == sessions.StatusFailed }, "that the turn fails")
	require.Equal(t, sessions.CodeUnknownProfile, w.Turns(one)[0].Error.Code)
	requireOutputs(t, lastResults(w.History(one)), `"mine"`, "", `1`)
	require.True(t, w.Cancel(two))
}
