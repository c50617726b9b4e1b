package actors_test

import (
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// Each end of the session answers every prompt that waits once.
func TestCase50EndsWithQueuedPrompts(t *testing.T) {
	ends := map[string]struct {
		end           func(w *actortest.World, at sessions.Address)
		first, queued sessions.Code
	}{
		"delete": {func(w *actortest.World, at sessions.Address) {
			require.EqualValues(w.T, 1, w.Delete(at).Receipt.Sessions)
		}, sessions.CodeSessionDeleted, sessions.CodeSessionDeleted},
		"clear": {func(w *actortest.World, _ sessions.Address) {
			_, err := w.System.ClearAll(w.T.Context(), actors.ClearAll{Owner: actortest.Owner})
			require.NoError(w.T, err)
		}, sessions.CodeSessionDeleted, sessions.CodeSessionDeleted},
		"close": {func(w *actortest.World, at sessions.Address) {
			s, err := w.System.Close(w.T.Context(), actors.Close{Owner: actortest.Owner, At: at})
			require.NoError(w.T, err)
			require.Equal(w.T, sessions.StatusClosed, s.Status)
			require.Zero(w.T, s.Queued)
		}, sessions.CodeCancelled, sessions.CodeSessionClosed},
	}
	for name, c := range ends {
		t.Run(name, func(t *testing.T) {
			w := world(t, script(scripted.Step{Hang: true}), nil)
			at := actortest.Key("a")
			first := w.Send(at, "work")
			first.Accepted()
			var queued []*actortest.Call
			for i := range 4 {
				call := w.Send(at, "next "+strconv.Itoa(i), with(sessions.BusyQueue), actortest.As(sessions.RequestID("q"+strconv.Itoa(i))))
				call.Accepted()
				queued = append(queued, call)
			}
			again := w.Send(at, "next 0", actortest.As("q0"))
			again.Accepted()
			c.end(w, at)
			first.Failed(c.first)
			for _, call := range append(queued, again) {
				r := call.Failed(c.queued)
				require.NotEmpty(t, r.Err.Details["turnId"])
			}
			requireNoBusy(t, w)
			if c.queued == sessions.CodeSessionClosed {
				w.Send(at, "next 0", actortest.As("q0")).Failed(sessions.CodeSessionClosed)
				require.Len(t, w.Turns(at), 5)
				return
			}
			w.Send(at, "next 0", actortest.As("q0")).Failed(sessions.CodeSessionDeleted)
			require.Equal(t, "fine", w.Say(at, "afresh"))
			require.Len(t, w.History(at), 2)
		})
	}
}

// case 50: after a stop the queued turns run at the next start, in order, and the
// same request ids join them.
func TestCase50StopWithQueuedPrompts(t *testing.T) {
	w := actortest.Open(t, profiles(script(scripted.Step{Hang: true})), actortest.Config{})
	at := actortest.Key("a")
	first := w.Send(at, "work", actortest.As("r"))
	first.Accepted()
	var queued []*actortest.Call
	var ids []sessions.TurnID
	for i := range 3 {
		call := w.Send(at, "next "+strconv.Itoa(i), with(sessions.BusyQueue), actortest.As(sessions.RequestID("q"+strconv.Itoa(i))))
		ids = append(ids, call.Accepted().Turn.TurnID)
		queued = append(queued, call)
	}
	gate := make(chan struct{})
	o := gatedWork(gate)
	again := cutAndReopen(t, w, profiles(o), nil)
	first.Failed(sessions.CodeHostStopping)
	for i, call := range queued {
		r := call.Failed(sessions.CodeHostStopping)
		require.EqualValues(t, ids[i], r.Err.Details["turnId"])
	}
	var joined []*actortest.Call
	for i := range 3 {
		call := again.Send(at, "next "+strconv.Itoa(i), actortest.As(sessions.RequestID("q"+strconv.Itoa(i))))
		took := call.Accepted()
		require.True(t, took.Duplicate)
		require.Equal(t, ids[i], took.Turn.TurnID)
		joined = append(joined, call)
	}
	close(gate)
	for _, call := range joined {
		require.Equal(t, "fine", call.Completed())
	}
	require.Equal(t, "done", again.Say(at, "work", actortest.As("r")))
	require.Equal(t, []string{"work", "next 0", "next 1", "next 2"}, users(again.History(at)))
	require.Len(t, o.Requests(), 4)
	requireNoBusy(t, again)
}

// A session whose queued turn was about to start when the host stopped.
func TestQueuedTurnsOfManySessionsRunAtTheNextStart(t *testing.T) {
	gate := &gatedStore{}
	w := actortest.Open(t, profiles(script(text("done"))), actortest.Config{Wrap: gate.wrap})
	gate.set(func(g *gatedStore) { g.onStart = func() error { return away } })
	const all = 60
	key := func(i int) sessions.Address { return actortest.Key(fmt.Sprint("k", i)) }
	for i := range all {
		hold := make(chan struct{})
		gate.set(func(g *gatedStore) {
			g.onCommit = func(sessions.CommitTurn) error { <-hold; return nil }
		})
		w.Send(key(i), "work").Accepted()
		call := w.Send(key(i), "next", with(sessions.BusyQueue), actortest.As(sessions.RequestID(fmt.Sprint("q", i))))
		call.Accepted()
		close(hold)
	}
	w.Eventually(func() bool {
		for i := range all {
			if w.Session(key(i)).ActiveTurn != nil {
				return false
			}
		}
		return true
	}, "that the first turns have ended")
	w = cutAndReopen(t, w, profiles(script(text("done"))), nil)
	for i := range all {
		r := w.Send(key(i), "next", actortest.As(sessions.RequestID(fmt.Sprint("q", i)))).Reply()
		require.Nil(t, r.Err)
		require.True(t, r.Duplicate)
		require.Equal(t, []string{"work", "next"}, users(w.History(key(i))))
	}
	requireNoBusy(t, w)
}

// An agent with queued turns stays, however short the time it may be idle; while
// the store is away nothing starts, and all of it does afterwards.
func TestStoreIsAwayWhenAQueuedTurnIsToStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, release := &gatedStore{}, make(chan struct{})
		w := actortest.NewInBubble(t, profiles(gatedWork(release), shortTTL), actortest.Config{Wrap: gate.wrap})
		at := actortest.Key("a")
		first := w.Send(at, "work")
		first.Accepted()
		queued := w.Send(at, "next", with(sessions.BusyQueue))
		queued.Accepted()
		gate.set(func(g *gatedStore) { g.onStart = func() error { return away } })
		close(release)
		require.Equal(t, "done", first.Completed())
		time.Sleep(time.Minute)
		require.True(t, w.Resident(at))
		w.Send(at, "no room").Failed(sessions.CodeAgentBusy)
		gate.set(func(g *gatedStore) { g.onStart = nil })
		require.Equal(t, "fine", queued.Completed())
		time.Sleep(time.Minute)
		synctest.Wait()
		require.False(t, w.Resident(at))
		requireNoBusy(t, w)
	})
}

// The end of a turn that the store cannot take holds the next turn up.
func TestEndThatIsNotStoredHoldsTheQueueUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, release := &gatedStore{}, make(chan struct{})
		o := gatedWork(release)
		w := actortest.NewInBubble(t, profiles(o), actortest.Config{Wrap: gate.wrap})
		at := actortest.Key("a")
		first := w.Send(at, "work", actortest.As("r"))
		first.Accepted()
		queued := w.Send(at, "next", with(sessions.BusyQueue))
		queued.Accepted()
		gate.set(func(g *gatedStore) { g.onCommit = func(sessions.CommitTurn) error { return away } })
		close(release)
		first.Failed(sessions.CodeStoreUnavailable)
		time.Sleep(time.Minute)
		require.Len(t, o.Requests(), 1)
		gate.set(func(g *gatedStore) { g.onCommit = nil })
		require.Equal(t, "done", w.Say(at, "work", actortest.As("r")))
		require.Equal(t, "fine", queued.Completed())
		requireNoBusy(t, w)
	})
}

// Queued turns that cannot start end as failed, one after another, with why.
func TestQueuedTurnsThatCannotStart(t *testing.T) {
	gate, release := &gatedStore{}, make(chan struct{})
	w := actortest.New(t, profiles(gatedWork(release)), actortest.Config{Wrap: gate.wrap})
	at := actortest.Key("a")
	first := w.Send(at, "work")
	first.Accepted()
	var calls []*actortest.Call
	for i := range 3 {
		call := w.Send(at, "next "+strconv.Itoa(i), with(sessions.BusyQueue), actortest.As(sessions.RequestID("q"+strconv.Itoa(i))))
		call.Accepted()
		calls = append(calls, call)
	}
	damaged := sessions.Errorf(sessions.CodeSessionDamaged, "The session is damaged for a test.")
	gate.set(func(g *gatedStore) { g.onStart = func() error { return damaged } })
	close(release)
	require.Equal(t, "done", first.Completed())
	for _, call := range calls {
		r := call.Failed(sessions.CodeSessionDamaged)
		require.Equal(t, sessions.TurnIsFailed, r.Turn.Status)
		require.EqualValues(t, r.Turn.TurnID, r.Err.Details["turnId"])
	}
	requireNoBusy(t, w)
	for _, turn := range w.Turns(at)[1:] {
		require.Equal(t, sessions.CodeSessionDamaged, turn.Error.Code)
	}
	require.Zero(t, w.Session(at).Queued)
	gate.set(func(g *gatedStore) { g.onStart = nil })
	require.Equal(t, "fine", w.Say(at, "go on"))
}

// The session was taken from under the agent: who waits hears that it is gone.
func TestQueuedTurnsOfASessionThatIsOver(t *testing.T) {
	gate, release := &gatedStore{}, make(chan struct{})
	w := actortest.New(t, profiles(gatedWork(release)), actortest.Config{Wrap: gate.wrap})
	at := actortest.Key("a")
	first := w.Send(at, "work")
	first.Accepted()
	queued := w.Send(at, "next", with(sessions.BusyQueue))
	queued.Accepted()
	gate.set(func(g *gatedStore) { g.onStart = func() error { return sessions.ErrFenced } })
	close(release)
	require.Equal(t, "done", first.Completed())
	queued.Failed(sessions.CodeSessionDeleted)
	w.AwaitIdle()
}

// A queued turn whose profile is gone at the next start fails by itself.
func TestQueuedTurnWhoseProfileIsGone(t *testing.T) {
	w := actortest.Open(t, profiles(script(scripted.Step{Hang: true})), actortest.Config{})
	at := actortest.Key("a")
	w.Send(at, "work", actortest.As("r")).Accepted()
	w.Send(at, "next", with(sessions.BusyQueue), actortest.As("q")).Accepted()
	w = cutAndReopen(t, w, actortest.Profiles{"other": {Oracle: script()}}, nil)
	w.Eventually(func() bool { return w.Session(at).Queued == 0 && w.Session(at).ActiveTurn == nil }, "that both have ended")
	w.Send(at, "work", actortest.As("r")).Failed(sessions.CodeHostRestarted)
	w.Send(at, "next", actortest.As("q")).Failed(sessions.CodeUnknownProfile)
	w.Eventually(func() bool {
		_, busy := w.System.Counts()
		return busy == 0
	}, "that no turn is busy")
}
