package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// testListAll asks for the sessions of every owner at once.
func testListAll(t *testing.T, f Factory) {
	w := newWorld(t, f)
	owners, err := w.store.Owners(t.Context())
	require.NoError(t, err)
	require.Empty(t, owners)
	// All but one at the same time, and ids that several owners have.
	for _, s := range []struct {
		owner sessions.Owner
		id    sessions.SessionID
	}{{"zoe", "a"}, {"ann", "a"}, {"bob", "b"}, {"ann", "b"}, {"bob", "a"}, {"gone", "c"}} {
		w.create(sessions.CreateSession{Owner: s.owner, At: byID(s.id), Profile: "p1"})
	}
	w.now++
	w.create(sessions.CreateSession{Owner: "ann", At: byID("0"), Profile: "p2"})
	w.removeOf("gone", byID("c"))
	owners, err = w.store.Owners(t.Context())
	require.NoError(t, err)
	require.Equal(t, []sessions.Owner{"ann", "bob", "zoe"}, owners)

	for _, of := range []sessions.Owner{"ann", "bob", "zoe", "nobody"} {
		for at, want := range map[sessions.Address]bool{byID("a"): true, byID("0"): of != "ann", byID("c"): false, byKey("a", "p1"): false} {
			found, err := w.store.Elsewhere(t.Context(), of, at)
			require.NoError(t, err)
			require.Equal(t, want, found, "%s %s", of, at)
		}
	}
	w.create(sessions.CreateSession{Owner: "zoe", At: byKey("doc", "p1")})
	for of, want := range map[sessions.Owner]bool{"ann": true, "zoe": false} {
		found, err := w.store.Elsewhere(t.Context(), of, byKey("doc", "p1"))
		require.NoError(t, err)
		require.Equal(t, want, found)
	}
	w.removeOf("zoe", byKey("doc", "p1"))

	want := []string{"ann 0", "bob b", "ann b", "zoe a", "bob a", "ann a"}
	for limit := 1; limit <= len(want)+1; limit++ {
		require.Equal(t, want, w.walkAll(sessions.SessionQuery{Limit: limit}), "pages of %d", limit)
	}
	require.Equal(t, want[1:], w.walkAll(sessions.SessionQuery{Profile: "p1", Limit: 2}))
	page, err := w.store.Sessions(t.Context(), sessions.SessionQuery{Owner: sessions.AllOwners, Limit: 1})
	require.NoError(t, err)
	_, err = w.store.Sessions(t.Context(), sessions.SessionQuery{Owner: "ann", Cursor: page.NextCursor})
	require.ErrorIs(t, err, sessions.ErrCursor, "it is of another list")
}

// removeOf deletes a session of an owner.
func (w *world) removeOf(of sessions.Owner, at sessions.Address) {
	w.t.Helper()
	_, err := w.store.DeleteSession(w.t.Context(), sessions.DeleteSession{Owner: of, At: at, TombstoneMs: 30 * day, Now: w.now}, nil)
	require.NoError(w.t, err)
}

// walkAll reads a list of all owners page by page.
func (w *world) walkAll(q sessions.SessionQuery) (found []string) {
	w.t.Helper()
	for q.Owner = sessions.AllOwners; ; {
		page, err := w.store.Sessions(w.t.Context(), q)
		require.NoError(w.t, err)
		for _, s := range page.Sessions {
			found = append(found, string(s.Owner)+" "+string(s.ID))
		}
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			return found
		}
	}
}
