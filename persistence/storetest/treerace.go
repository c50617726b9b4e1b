package storetest

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// raceRounds is how often a race is run, in each order that can be forced and
// freely.
const raceRounds = 20

// inOrder has calls wait for the store, one after the other, and returns when
// all are done.
func (w *world) inOrder(calls ...func()) {
	w.t.Helper()
	waiting, release := w.f.Hold(w.t, w.store)
	var group sync.WaitGroup
	for i, call := range calls {
		group.Go(call)
		for waiting() <= i {
			runtime.Gosched()
		}
	}
	release()
	group.Wait()
}

func testTreeRaces(t *testing.T, f Factory) {
	f.run(t, "a child made while its parent is deleted does not survive", func(t *testing.T) {
		w := newWorld(t, f)
		w.raced(func(i int) (func(), func(), func(order)) {
			parent := w.root(sessions.SessionID(fmt.Sprintf("parent-%d", i)))
			w.child(parent.ID, sessions.SessionID(fmt.Sprintf("child-%d", i)))
			var made sessions.CreatedSession
			var makeErr, deleteErr error
			var gone []sessions.DeletedSession
			create := func() { made, makeErr = w.createChild(parent.ID, sessions.ChildCall{TurnID: "t", CallID: "c"}) }
			remove := func() { _, gone, deleteErr = w.tryDelete(sessions.DeleteSession{At: addressOf(parent)}) }
			return create, remove, func(o order) {
				require.NoError(t, deleteErr)
				if makeErr != nil {
					require.NotEqual(t, otherFirst, o)
					requireCode(t, sessions.CodeSessionNotFound, makeErr)
					require.Len(t, gone, 2)
					return
				}
				require.NotEqual(t, deleteFirst, o)
				require.Len(t, gone, 3)
				w.requireGone(parent.ID, made.Session.ID)
			}
		})
	})
	f.run(t, "of a prompt to a child and a delete that minds exactly one wins", func(t *testing.T) {
		w := newWorld(t, f)
		w.raced(func(i int) (func(), func(), func(order)) {
			parent := w.root(sessions.SessionID(fmt.Sprintf("parent-%d", i)))
			child := w.child(parent.ID, sessions.SessionID(fmt.Sprintf("child-%d", i)))
			c := w.prompt(addressOf(child), "question")
			var promptErr, deleteErr error
			prompt := func() { _, promptErr = w.store.AcceptTurn(t.Context(), c) }
			remove := func() {
				_, _, deleteErr = w.tryDelete(sessions.DeleteSession{At: addressOf(parent), RejectIfBusy: true})
			}
			return prompt, remove, func(o order) {
				if promptErr != nil {
					require.NotEqual(t, otherFirst, o)
					require.NoError(t, deleteErr)
					requireCode(t, sessions.CodeSessionNotFound, promptErr)
					w.requireGone(parent.ID, child.ID)
					return
				}
				require.NotEqual(t, deleteFirst, o)
				requireCode(t, sessions.CodeConflict, deleteErr)
				require.Equal(t, sessions.StatusRunning, w.get(addressOf(child)).Status)
			}
		})
	})
	f.run(t, "of a ref and the delete of its holder none is left", func(t *testing.T) {
		w := newWorld(t, f)
		w.raced(func(i int) (func(), func(), func(order)) {
			parent := w.root(sessions.SessionID(fmt.Sprintf("parent-%d", i)))
			known := w.root(sessions.SessionID(fmt.Sprintf("known-%d", i)))
			var addErr, deleteErr error
			var gone []sessions.DeletedSession
			add := func() {
				_, addErr = w.store.AddRefs(t.Context(), parent.Fence.Incarnation, []sessions.Ref{w.ref(known.ID, sessions.Local)})
			}
			remove := func() { _, gone, deleteErr = w.tryDelete(sessions.DeleteSession{At: addressOf(parent)}) }
			return add, remove, func(o order) {
				require.NoError(t, deleteErr)
				if addErr != nil {
					require.NotEqual(t, otherFirst, o)
					require.ErrorIs(t, addErr, sessions.ErrFenced)
					require.Len(t, gone, 1)
					w.get(addressOf(known))
					return
				}
				require.NotEqual(t, deleteFirst, o)
				require.Len(t, gone, 2)
			}
		})
	})
	f.run(t, "case-29: delete, then create under the same key while old writes wait", func(t *testing.T) { writesOfOldLife(t, f) })
}

// order says which of two calls was made to come first.
type order int

const (
	free order = iota
	otherFirst
	deleteFirst
)

// raced runs rounds of a race between something and a delete: freely, and in both
// orders if the store can be held. round returns both calls and what must hold
// after them.
func (w *world) raced(round func(i int) (other, remove func(), check func(order))) {
	w.t.Helper()
	orders := []order{free}
	if w.f.Hold != nil {
		orders = append(orders, otherFirst, deleteFirst)
	}
	for i := range raceRounds {
		for _, o := range orders {
			other, remove, check := round(i*len(orders) + int(o))
			switch o {
			case free:
				var group sync.WaitGroup
				group.Go(other)
				group.Go(remove)
				group.Wait()
			case otherFirst:
				w.inOrder(other, remove)
			case deleteFirst:
				w.inOrder(remove, other)
			}
			check(o)
		}
	}
}

func writesOfOldLife(t *testing.T, f Factory) {
	if f.Hold == nil {
		t.Skip("this store cannot be held")
	}
	w := newWorld(t, f)
	key := byKey("doc", "writer")
	for range raceRounds {
		old := w.accept(w.prompt(key, "old"))
		queued := w.prompt(key, "old")
		queued.Fence = old.Session.Fence
		var fresh sessions.CreatedSession
		var deleteErr, createErr, commitErr, acceptErr error
		w.inOrder(
			func() { _, _, deleteErr = w.tryDelete(sessions.DeleteSession{At: key}) },
			func() {
				fresh, createErr = w.store.CreateSession(t.Context(), sessions.CreateSession{Owner: owner, At: key,
					NewID: sessions.SessionID(w.name("new")), Now: w.now})
			},
			func() { _, commitErr = w.store.CommitTurn(t.Context(), w.answer(old, "old")) },
			func() { _, acceptErr = w.store.AcceptTurn(t.Context(), queued) })
		require.NoError(t, deleteErr)
		require.NoError(t, createErr)
		require.True(t, fresh.Created)
		require.ErrorIs(t, commitErr, sessions.ErrFenced)
		require.ErrorIs(t, acceptErr, sessions.ErrFenced)
		w.turn(key, "new", "new")
		history := w.history(fresh.Session.Fence.Incarnation)
		require.Len(t, history, 2)
		require.Equal(t, sessions.Text("new"), history[0].Content)
		w.remove(key)
	}
}
