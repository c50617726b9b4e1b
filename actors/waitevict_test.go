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

// A session whose turn waits leaves memory when nobody waits for its prompt, and
// comes back for an answer, as often as there are answers.
func TestAnAnswerMountsATurnThatWaits(t *testing.T) {
	w := waitingWorld(t, shortTTL)
	at := actortest.Key("a")
	_, pending := waitingWork(w, at, actortest.As("r"), nobodyWaits)
	epoch := w.Session(at).Fence.Epoch
	for _, p := range pending {
		awaitEvicted(w, at)
		resident, busy := w.System.Counts()
		require.Zero(t, resident)
		require.Zero(t, busy)
		given := gives(`"mine"`)
		if p.Kind == sessions.PendingApproval {
			given = approves(true)
		}
		mustAnswer(w, actortest.ID(w.Session(at).ID), p.CallID, given)
		require.True(t, mustAnswer(w, at, p.CallID, given).Repeat)
	}
	r := w.Send(at, "work", actortest.As("r")).Reply()
	require.Nil(t, r.Err)
	requireOutputs(t, lastResults(w.History(at)), `"mine"`, `"written"`, `1`)
	require.Greater(t, w.Session(at).Fence.Epoch, epoch, "the turn was taken over")
	require.Zero(t, w.Turns(at)[0].Attempts)
	w.AwaitIdle()
}

// Somebody who waits keeps the session in memory until he has gone.
func TestACallerKeepsATurnThatWaitsInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := actortest.NewInBubble(t, profiles(script(calls("/ui/ask"), text("done")), guarded), actortest.Config{Config: actors.Config{IdleTTL: time.Minute}})
		at, gone := actortest.Key("a"), make(chan struct{})
		waitingWork(w, at, func(p *actors.Prompt) { p.Gone = gone })
		time.Sleep(time.Hour)
		synctest.Wait()
		require.True(t, w.Resident(at))
		close(gone)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.False(t, w.Resident(at))
		time.Sleep(time.Hour)
		require.True(t, w.Cancel(at))
		require.Equal(t, "fine", w.Say(at, "hello"))
	})
}

// unreadable is a store of which the reads of a turn that waits fail for a while.
type unreadable struct {
	sessions.Store
	down atomic.Bool
}

func (s *unreadable) WaitedCalls(ctx context.Context, life sessions.Incarnation, id sessions.TurnID) (sessions.WaitedCalls, error) {
	if s.down.Load() {
		return sessions.WaitedCalls{}, sessions.ErrReadGivenUp
	}
	return s.Store.WaitedCalls(ctx, life, id)
}

func (s *unreadable) Turn(ctx context.Context, life sessions.Incarnation, id sessions.TurnID) (sessions.Turn, error) {
	if s.down.Load() {
		return sessions.Turn{}, sessions.ErrReadGivenUp
	}
	return s.Store.Turn(ctx, life, id)
}

// While the store cannot say what a turn waits for, nothing is done; later all is
// as it was.
func TestAStoreThatCannotSayWhatATurnWaitsFor(t *testing.T) {
	store := &unreadable{}
	w := actortest.New(t, profiles(script(calls("/ui/ask"), text("done")), guarded, shortTTL), actortest.Config{
		Wrap: func(s sessions.Store) sessions.Store { store.Store = s; return store },
	})
	at := actortest.Key("a")
	_, pending := waitingWork(w, at, actortest.As("r"), nobodyWaits)
	awaitEvicted(w, at)
	store.down.Store(true)
	requireNotAnswered(w, at, pending[0].CallID, gives(`1`), sessions.CodeStoreUnavailable)
	w.Send(at, "hello").Failed(sessions.CodeStoreUnavailable)
	store.down.Store(false)
	mustAnswer(w, at, pending[0].CallID, gives(`1`))
	require.Equal(t, "done", w.Send(at, "work", actortest.As("r")).Completed())
}

// Answers, cancels and prompts meet a session that leaves all the time.
func TestComersRaceEviction(t *testing.T) {
	w := waitingWorld(t, shortTTL)
	for i := range 60 {
		at := actortest.Key(string(rune('A' + i%20)))
		_, pending := waitingWork(w, at, nobodyWaits)
		time.Sleep(time.Duration(i%7) * time.Millisecond / 2)
		mustAnswer(w, at, pending[0].CallID, gives(`"mine"`))
		time.Sleep(time.Duration(i%5) * time.Millisecond / 2)
		switch i % 3 {
		case 0:
			require.True(t, w.Cancel(at))
		case 1:
			require.Equal(t, "fine", w.Say(at, "hello", with(sessions.BusyInterrupt)))
		default:
			mustAnswer(w, at, pending[1].CallID, approves(true))
			require.Equal(t, "fine", w.Say(at, "hello", with(sessions.BusyQueue)))
			requireOutputs(t, lastResults(w.History(at)), `"mine"`, `"written"`, `1`)
		}
		w.History(at)
	}
	w.AwaitIdle()
}

// An agent that breaks down ends the turn that waits, and answers who is there.
func TestPanicOfAnAgentWhoseTurnWaits(t *testing.T) {
	trip := &tripwire{}
	w := actortest.New(t, profiles(script(calls("/ui/ask"), text("done")), guarded), actortest.Config{Config: actors.Config{Now: trip.now}})
	at := actortest.Key("a")
	call, pending := waitingWork(w, at)
	trip.armed.Store(true)
	_, err := giveAnswer(w, at, pending[0].CallID, gives(`1`))
	require.Equal(t, sessions.CodeInternal, sessions.CodeOf(err))
	call.Failed(sessions.CodeInternal)
	w.AwaitIdle()
	require.Equal(t, "fine", w.Say(at, "hello"))
}
