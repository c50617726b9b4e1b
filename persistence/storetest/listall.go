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
	_, err = w.store.DeleteSession(t.Context(), sessions.DeleteSession{Owner: "gone", At: byID("c"), TombstoneMs: 30 * day, Now: w.now}, nil)
	require.NoError(t, err)
	owners, err = w.store.Owners(t.Context())
	require.NoError(t, err)
	require.Equal(t, []sessions.Owner{"ann", "bob", "zoe"}, owners)

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
