package storetest

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// createChild asks for a child of a call.
func (w *world) createChild(parent sessions.SessionID, call sessions.ChildCall) (sessions.CreatedSession, error) {
	return w.store.CreateSession(w.t.Context(), sessions.CreateSession{Owner: owner, NewID: sessions.SessionID(w.name("child")),
		Profile: "helper", ParentID: parent, ParentLocation: sessions.Local, Call: call, Now: w.now})
}

func testChildCall(t *testing.T, f Factory) {
	f.run(t, "a call finds its child again", func(t *testing.T) { callFindsChild(t, f) })
	f.run(t, "also when it is asked for at once", func(t *testing.T) {
		w := newWorld(t, f)
		parent := w.session()
		const callers = 20
		answers, errs := make([]sessions.CreatedSession, callers), make([]error, callers)
		var group sync.WaitGroup
		for i := range callers {
			group.Go(func() { answers[i], errs[i] = w.createChild(parent.ID, sessions.ChildCall{TurnID: "t", CallID: "c"}) })
		}
		group.Wait()
		var created int
		for i, got := range answers {
			require.NoError(t, errs[i])
			require.Equal(t, answers[0].Session, got.Session)
			if got.Created {
				created++
			}
		}
		require.Equal(t, 1, created)
		require.Len(t, w.refs(parent.Fence.Incarnation), 1)
	})
	f.run(t, "a child that is no more is not made again", func(t *testing.T) {
		w := newWorld(t, f)
		parent := w.session()
		ref := w.ref("far", sessions.Remote)
		ref.TurnID, ref.CallID = "t", "c"
		_, err := w.store.AddRefs(t.Context(), parent.Fence.Incarnation, []sessions.Ref{ref})
		require.NoError(t, err)
		before := w.rows()
		_, err = w.createChild(parent.ID, sessions.ChildCall{TurnID: "t", CallID: "c"})
		requireCode(t, sessions.CodeSessionNotFound, err)
		_, err = w.createChild("nobody", sessions.ChildCall{TurnID: "t", CallID: "c2"})
		requireCode(t, sessions.CodeSessionNotFound, err)
		require.Equal(t, before, w.rows())
	})
	f.run(t, "a call of a life that is over makes nothing", func(t *testing.T) {
		w := newWorld(t, f)
		parent := w.create(sessions.CreateSession{At: byID("again")})
		call := sessions.ChildCall{Life: parent.Fence.Incarnation, TurnID: "t", CallID: "c"}
		w.remove(byID("again"))
		w.create(sessions.CreateSession{At: byID("again")})
		before := w.rows()
		_, err := w.createChild("again", call)
		require.ErrorIs(t, err, sessions.ErrFenced)
		require.Equal(t, before, w.rows())
	})
	f.run(t, "a key that is used again has fresh children", func(t *testing.T) {
		w := newWorld(t, f)
		call := sessions.ChildCall{TurnID: "t", CallID: "c", Name: "anna"}
		parent := w.create(sessions.CreateSession{At: byKey("doc", "writer")})
		old, err := w.createChild(parent.ID, call)
		require.NoError(t, err)
		w.turn(addressOf(old.Session), "question", "reply")
		require.Len(t, w.cascade(byKey("doc", "writer")), 2)

		parent = w.create(sessions.CreateSession{At: byKey("doc", "writer")})
		require.Empty(t, w.refs(parent.Fence.Incarnation))
		fresh, err := w.createChild(parent.ID, call)
		require.NoError(t, err)
		require.True(t, fresh.Created)
		require.NotEqual(t, old.Session.ID, fresh.Session.ID)
		require.Empty(t, w.history(fresh.Session.Fence.Incarnation))
	})
}

func callFindsChild(t *testing.T, f Factory) {
	w := newWorld(t, f)
	parent, other := w.session(), w.session()
	make1 := func(parent sessions.Session, call sessions.ChildCall, created bool) sessions.Session {
		t.Helper()
		got, err := w.createChild(parent.ID, call)
		require.NoError(t, err)
		require.Equal(t, created, got.Created)
		return got.Session
	}
	first := make1(parent, sessions.ChildCall{TurnID: "t", CallID: "c"}, true)
	anna := make1(parent, sessions.ChildCall{TurnID: "t", CallID: "c2", Name: "anna"}, true)
	require.Equal(t, parent.ID, first.ParentID)
	require.Equal(t, first, make1(parent, sessions.ChildCall{TurnID: "t", CallID: "c"}, false))
	require.Equal(t, anna, make1(parent, sessions.ChildCall{TurnID: "t2", CallID: "c", Name: "anna"}, false))
	require.Len(t, w.refs(parent.Fence.Incarnation), 2, "no record was changed or added")

	make1(parent, sessions.ChildCall{TurnID: "t2", CallID: "c"}, true)
	make1(parent, sessions.ChildCall{TurnID: "t", CallID: "c3", Name: "berta"}, true)
	make1(parent, sessions.ChildCall{}, true)
	make1(parent, sessions.ChildCall{}, true)
	make1(other, sessions.ChildCall{TurnID: "t", CallID: "c", Name: "anna"}, true)

	w.remove(addressOf(first))
	again := make1(parent, sessions.ChildCall{TurnID: "t", CallID: "c"}, true)
	require.NotEqual(t, first.ID, again.ID, "its record went with it")
}
