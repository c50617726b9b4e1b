package actors_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

func TestInterruptRunsNext(t *testing.T) {
	started := make(chan struct{}, 1)
	w := world(t, script(calls("/t/hang"), text("done")), mounts{"/t/hang": hang(started)})
	at := actortest.Key("a")
	first := w.Send(at, "work")
	<-started
	queued := w.Send(at, "queued", with(sessions.BusyQueue))
	queued.Accepted()
	urgent := w.Send(at, "urgent", with(sessions.BusyInterrupt))
	require.True(t, urgent.Accepted().Waits)
	r := first.Failed(sessions.CodeCancelled)
	require.Equal(t, sessions.TurnIsCancelled, r.Turn.Status)
	require.Equal(t, "fine", urgent.Completed())
	require.Equal(t, "fine", queued.Completed())
	require.Equal(t, []string{"work", "urgent", "queued"}, users(w.History(at)))
	require.Equal(t, sessions.CodeCancelled, requireResultOfEach(t, w, at, 1)[0].Error.Code)
	requireNoBusy(t, w)
}

// Interrupts at once: each cuts what runs, all run, and the last one first.
func TestManyInterrupts(t *testing.T) {
	w := world(t, script(scripted.Step{Hang: true}), nil)
	at := actortest.Key("a")
	first := w.Send(at, "work")
	first.Accepted()
	var urgent []*actortest.Call
	for i := range 8 {
		urgent = append(urgent, w.Send(at, "work "+strconv.Itoa(i), with(sessions.BusyInterrupt)))
	}
	for _, call := range urgent {
		call.Accepted()
	}
	ends := map[sessions.Code]int{}
	ends[first.Reply().Err.Code]++
	w.Eventually(func() bool {
		s := w.Session(at)
		if s.ActiveTurn != nil && s.Queued < 8 {
			w.Cancel(at)
		}
		return s.ActiveTurn == nil && s.Queued == 0
	}, "that all have run")
	for _, call := range urgent {
		ends[call.Reply().Err.Code]++
	}
	require.Equal(t, map[sessions.Code]int{sessions.CodeCancelled: 9}, ends)
	require.Len(t, users(w.History(at)), 9)
	requireNoBusy(t, w)
}

// A completion that came first stands, and the interrupting turn runs after it.
func TestInterruptAfterTheEndIsDecided(t *testing.T) {
	gate, reached, release := &gatedStore{}, make(chan struct{}, 1), make(chan struct{})
	w := actortest.New(t, profiles(script(text("done"))), actortest.Config{Wrap: gate.wrap})
	at := actortest.Key("a")
	gate.set(func(g *gatedStore) {
		g.onCommit = func(c sessions.CommitTurn) error {
			if c.End != nil {
				reached <- struct{}{}
				<-release
			}
			return nil
		}
	})
	first := w.Send(at, "work")
	<-reached
	urgent := w.Send(at, "urgent", with(sessions.BusyInterrupt))
	urgent.Accepted()
	gate.set(func(g *gatedStore) { g.onCommit = nil })
	close(release)
	require.Equal(t, "done", first.Completed())
	require.Equal(t, "fine", urgent.Completed())
	requireNoBusy(t, w)
}

// The host stopped between the accept of a prompt that interrupts and the end of
// the turn it cuts: the next start cuts it.
func TestInterruptHoldsAfterARestart(t *testing.T) {
	gate := &gatedStore{}
	w := actortest.Open(t, profiles(script(scripted.Step{Hang: true})), actortest.Config{Wrap: gate.wrap})
	at := actortest.Key("a")
	first := w.Send(at, "work", actortest.As("r"))
	first.Accepted()
	gate.set(func(g *gatedStore) { g.onCommit = func(sessions.CommitTurn) error { return away } })
	w.Send(at, "queued", with(sessions.BusyQueue), actortest.As("q")).Accepted()
	w.Send(at, "urgent", with(sessions.BusyInterrupt), actortest.As("u")).Accepted()
	w = cutAndReopen(t, w, profiles(script(scripted.Step{Hang: true})), nil)
	require.Equal(t, "fine", w.Say(at, "urgent", actortest.As("u")))
	require.Equal(t, "fine", w.Say(at, "queued", actortest.As("q")))
	w.Send(at, "work", actortest.As("r")).Failed(sessions.CodeCancelled)
	require.Equal(t, []string{"work", "urgent", "queued"}, users(w.History(at)))
	requireNoBusy(t, w)
}

// An interrupt that has had its turn cut already does not cut the one that runs
// instead.
func TestOlderInterruptWaitsForANewerOneAfterARestart(t *testing.T) {
	w := actortest.Open(t, profiles(script(scripted.Step{Hang: true})), actortest.Config{})
	at := actortest.Key("a")
	gate := w.Send(at, "work", actortest.As("r"))
	gate.Accepted()
	older := w.Send(at, "older", with(sessions.BusyInterrupt), actortest.As("o"))
	newer := w.Send(at, "work newer", with(sessions.BusyInterrupt), actortest.As("n"))
	older.Accepted()
	newer.Accepted()
	w.Eventually(func() bool {
		active := w.Session(at).ActiveTurn
		return active != nil && active.RequestID == "n"
	}, "that the newer one runs")
	done := make(chan struct{})
	if r := w.Session(at); r.Queued == 0 {
		close(done) // the older one had its turn before the newer one came
	}
	again := cutAndReopen(t, w, profiles(script(text("done"))), nil)
	require.Equal(t, "done", again.Say(at, "work newer", actortest.As("n")))
	r := again.Send(at, "older", actortest.As("o")).Reply()
	select {
	case <-done:
		require.NotNil(t, r.Err)
	default:
		require.Nil(t, r.Err)
	}
	requireNoBusy(t, again)
}

func TestCloseAndDeleteOfAnInterruptedSession(t *testing.T) {
	w := world(t, script(scripted.Step{Hang: true}), nil)
	for _, end := range []string{"close", "delete"} {
		at := actortest.Key(end)
		first := w.Send(at, "work")
		first.Accepted()
		urgent := w.Send(at, "work too", with(sessions.BusyInterrupt))
		queued := w.Send(at, "next", with(sessions.BusyQueue))
		queued.Accepted()
		if end == "close" {
			_, err := w.System.Close(t.Context(), actors.Close{Owner: actortest.Owner, At: at})
			require.NoError(t, err)
			queued.Failed(sessions.CodeSessionClosed)
		} else {
			w.Delete(at)
			queued.Failed(sessions.CodeSessionDeleted)
		}
		require.NotNil(t, first.Reply().Err)
		require.NotNil(t, urgent.Reply().Err)
	}
	requireNoBusy(t, w)
}
