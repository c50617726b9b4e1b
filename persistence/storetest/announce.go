package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testAnnounce(t *testing.T, f Factory) {
	f.run(t, "what a delete ended is told until it is heard of", func(t *testing.T) { announced(t, f) })
	f.run(t, "a delete that does not announce tells nothing", func(t *testing.T) {
		w := newWorld(t, f)
		w.root("a")
		w.cascade(byID("a"))
		w.root("b")
		w.clear(owner)
		require.Empty(t, w.unheard(10))
	})
	f.run(t, "one that ends nothing tells nothing", func(t *testing.T) {
		w := newWorld(t, f)
		receipt, _ := w.delete(sessions.DeleteSession{At: byID("nobody"), Announce: true})
		require.Nil(t, receipt)
		require.Empty(t, w.unheard(10))
	})
	for name, neighbour := range map[string]bool{"a clear of the only owner": false, "a clear of one of two owners": true} {
		f.run(t, name, func(t *testing.T) { announcedClear(t, f, neighbour) })
	}
}

// unheard returns the ids of deleted sessions that nobody has heard of.
func (w *world) unheard(limit int) (gone []sessions.DeletedSession) {
	w.t.Helper()
	gone, err := w.store.Unheard(w.t.Context(), limit)
	require.NoError(w.t, err)
	return gone
}

func announced(t *testing.T, f Factory) {
	w := newWorld(t, f)
	require.Empty(t, w.unheard(10))
	w.root("first")
	w.child("first", "below")
	w.root("second")
	w.accept(w.prompt(byID("second"), "question"))
	_, first := w.delete(sessions.DeleteSession{At: byID("first"), Announce: true})
	_, second := w.delete(sessions.DeleteSession{At: byID("second"), Announce: true})
	all := append(first, second...)
	require.Len(t, all, 3)
	if f.Reopen != nil {
		w.reopen()
	}
	require.Equal(t, all, w.unheard(10))
	require.Equal(t, all[:2], w.unheard(2))
	require.Empty(t, w.unheard(0))

	// The id is used again, and ends again, before anybody has heard of the first.
	w.root("second")
	_, third := w.delete(sessions.DeleteSession{At: byID("second"), Announce: true})
	require.NoError(t, w.store.Heard(t.Context(), all[:2]))
	require.Equal(t, append(second, third...), w.unheard(10))
	require.NoError(t, w.store.Heard(t.Context(), all[:2]), "heard of already")
	require.NoError(t, w.store.Heard(t.Context(), nil))
	require.NoError(t, w.store.Sweep(t.Context(), w.now+100*day))
	require.NoError(t, w.store.Heard(t.Context(), second))
	require.Equal(t, third, w.unheard(10))
}

func announcedClear(t *testing.T, f Factory, neighbour bool) {
	w := newWorld(t, f)
	if neighbour {
		w.create(sessions.CreateSession{Owner: "other", At: byID("kept")})
	}
	var want []sessions.DeletedSession
	for i := range 5 {
		s := w.root(sessions.SessionID(fmt.Sprint("root-", i)))
		want = append(want, sessions.DeletedSession{Owner: owner, ID: s.ID, Fence: s.Fence})
		child := w.child(s.ID, sessions.SessionID(fmt.Sprint("child-", i)))
		w.refer(child, "far", sessions.Remote)
		want = append(want, sessions.DeletedSession{Owner: owner, ID: child.ID, Fence: child.Fence})
	}
	w.remove(byID("root-0")) // with its child, and not announced
	receipt, err := w.store.ClearOwner(t.Context(), sessions.ClearOwner{Owner: owner, Announce: true, TombstoneMs: day, Now: w.now}, nil)
	require.NoError(t, err)
	require.EqualValues(t, 8, receipt.Sessions)
	require.EqualValues(t, 8, receipt.Rows["sub_session_refs"])
	require.ElementsMatch(t, want[2:], w.unheard(100))
	w.clear(owner)
	require.Len(t, w.unheard(100), 8, "a clear does not forget what is unheard of")
	require.NoError(t, w.store.Heard(t.Context(), want))
	require.Empty(t, w.unheard(100))
}
