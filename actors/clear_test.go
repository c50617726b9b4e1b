package actors_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/actors/feed"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

func clearAll(t *testing.T, w *actortest.World) actors.DeleteReply {
	t.Helper()
	r, err := w.System.ClearAll(t.Context(), actors.ClearAll{Owner: actortest.Owner})
	require.NoError(t, err)
	return r
}

func TestClearAll(t *testing.T) {
	w := world(t, script(scripted.Step{Hang: true}), nil)
	require.Zero(t, clearAll(t, w).Receipt.Sessions)
	var running []*actortest.Call
	for i := range 5 {
		at := actortest.Key(strconv.Itoa(i))
		w.Say(at, "hello")
		if i%2 == 0 {
			running = append(running, w.Send(at, "work"))
			running[len(running)-1].Accepted()
		}
	}
	eve := func(p *actors.Prompt) { p.Owner = "eve" }
	require.Equal(t, "fine", w.Say(actortest.Key("hers"), "hello", eve))
	sub := w.System.Feed().Subscribe(actortest.Owner, w.Session(actortest.Key("1")).Fence.Incarnation, 0)
	defer sub.Close()
	r := clearAll(t, w)
	require.EqualValues(t, 5, r.Receipt.Sessions)
	require.False(t, r.Pending)
	for _, c := range running {
		c.Failed(sessions.CodeSessionDeleted)
	}
	require.Equal(t, feed.Deleted, nextEnd(t, sub))
	resident, busy := w.System.Counts()
	require.EqualValues(t, 1, resident, "the other owner's")
	require.Zero(t, busy)
	require.Equal(t, "fine", w.Say(actortest.Key("0"), "anew"))
	require.Len(t, w.History(actortest.Key("0")), 2)
	require.Equal(t, "fine", w.Say(actortest.Key("hers"), "again", eve))
}

// A delete that a clear-all has come before ends too, and its agent with it.
func TestClearAllOvertakesADelete(t *testing.T) {
	g := &gatedStore{}
	w := actortest.New(t, profiles(script(scripted.Step{Hang: true})), actortest.Config{Wrap: g.wrap})
	at := actortest.Key("a")
	call := w.Send(at, "work")
	call.Accepted()
	deciding, asked := make(chan struct{}), make(chan struct{})
	g.set(func(g *gatedStore) {
		g.onDelete = func(*sessions.DeleteSession) error { close(asked); <-deciding; return nil }
	})
	deleted := make(chan actors.DeleteReply)
	go func() { deleted <- w.Delete(at) }()
	<-asked
	require.EqualValues(t, 1, clearAll(t, w).Receipt.Sessions)
	call.Failed(sessions.CodeSessionDeleted)
	_, busy := w.System.Counts()
	require.Zero(t, busy)
	require.Equal(t, "fine", w.Say(at, "anew"))
	g.set(func(g *gatedStore) { g.onDelete = nil })
	close(deciding)
	<-deleted
	w.Delete(at)
	w.AwaitIdle()
}

// A session that was made after the clear, but before the root has heard of it,
// goes on.
func TestClearAllLeavesNewSessionsAlone(t *testing.T) {
	gate := make(chan struct{})
	g := &gatedStore{}
	w := actortest.New(t, profiles(script(scripted.Step{Gate: gate, Text: "done"})), actortest.Config{Wrap: g.wrap})
	w.Say(actortest.Key("old"), "hello")
	asked, ask := make(chan struct{}), make(chan struct{})
	cleared, tell := make(chan struct{}), make(chan struct{})
	g.set(func(g *gatedStore) {
		g.onResolve = func(sessions.Address) { close(asked); <-ask }
		g.onCleared = func() { close(cleared); <-tell }
	})
	call := w.Send(actortest.Key("new"), "work")
	<-asked
	g.set(func(g *gatedStore) { g.onResolve = nil })
	done := make(chan actors.DeleteReply, 1)
	w.System.ActorSystem().Root.Send(w.System.Root(), &actors.ClearAll{Owner: actortest.Owner, Reply: done})
	<-cleared
	close(ask)
	call.Accepted()
	close(tell)
	require.EqualValues(t, 1, (<-done).Receipt.Sessions)
	close(gate)
	require.Equal(t, "done", call.Completed())
	require.Equal(t, "fine", w.Say(actortest.Key("new"), "again"))
}

func TestClearAllAgainIsRefusedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := actortest.NewInBubble(t, profiles(script()), actortest.Config{})
		first, second := make(chan actors.DeleteReply, 1), make(chan actors.DeleteReply, 1)
		root := w.System.ActorSystem().Root
		root.Send(w.System.Root(), &actors.ClearAll{Owner: actortest.Owner, Reply: first})
		root.Send(w.System.Root(), &actors.ClearAll{Owner: actortest.Owner, Reply: second})
		a, b := <-first, <-second
		require.Nil(t, a.Err)
		if b.Err != nil { // the first may have ended before the second was looked at
			require.Equal(t, sessions.CodeConflict, b.Err.Code)
		}
	})
}

// Each prompt gets one answer, and what was accepted after the last clear is there.
func TestPromptsRacingWithClearAll(t *testing.T) {
	w := world(t, oracleFunc(repeatUser), nil)
	var all sync.WaitGroup
	faults := make(chan error, 10_000)
	for c := range 6 {
		all.Go(func() {
			for i := range 50 {
				text := strconv.Itoa(c) + "/" + strconv.Itoa(i)
				r := w.Send(actortest.Key(strconv.Itoa(c)), text).Reply()
				switch {
				case r.Err == nil && sessions.TextOf(r.Final.Content) != text:
					faults <- sessions.Errorf(sessions.CodeInternal, "another's reply")
				case r.Err != nil && r.Err.Code != sessions.CodeSessionDeleted:
					faults <- r.Err
				}
			}
		})
	}
	all.Go(func() {
		for range 25 {
			if _, err := w.System.ClearAll(context.Background(), actors.ClearAll{Owner: actortest.Owner}); err != nil {
				faults <- err
			}
		}
	})
	all.Wait()
	close(faults)
	for err := range faults {
		require.NoError(t, err)
	}
	clearAll(t, w)
	w.AwaitIdle()
	page, err := w.Store.Sessions(t.Context(), sessions.SessionQuery{Owner: actortest.Owner, Limit: 10})
	require.NoError(t, err)
	require.Empty(t, page.Sessions)
}

// slowClear is a store that has hidden what it clears long before it is done.
type slowClear struct{ sessions.Store }

func (s slowClear) ClearOwner(ctx context.Context, c sessions.ClearOwner, hidden func(sessions.Incarnation, int64)) (sessions.Receipt, error) {
	receipt, err := s.Store.ClearOwner(ctx, c, hidden)
	time.Sleep(time.Hour)
	return receipt, err
}

func TestClearAllPastItsGraceSaysHowManySessionsItHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := actortest.NewInBubble(t, profiles(script(scripted.Step{Text: "one"}, scripted.Step{Text: "two"})),
			actortest.Config{Wrap: func(s sessions.Store) sessions.Store { return slowClear{s} }})
		w.Say(actortest.Key("a"), "hello")
		w.Say(actortest.Key("b"), "hello")
		r, err := w.System.ClearAll(t.Context(), actors.ClearAll{Owner: actortest.Owner, Grace: 3 * time.Second})
		require.NoError(t, err)
		require.True(t, r.Pending)
		require.False(t, r.Receipt.Complete)
		require.EqualValues(t, 2, r.Receipt.Sessions)
		time.Sleep(time.Hour)
	})
}
