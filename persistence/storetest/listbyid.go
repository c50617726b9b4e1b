package storetest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testListByID(t *testing.T, f Factory) {
	w := newWorld(t, f)
	ids := []sessions.SessionID{"a", "b", "c", "d", "e"}
	for _, id := range []sessions.SessionID{"c", "a", "e", "b", "d"} {
		w.create(sessions.CreateSession{At: byID(id), Profile: "p", Labels: map[string]string{"odd": string(id)}})
	}
	w.create(sessions.CreateSession{Owner: "other", At: byID("aa"), Profile: "p"})
	w.create(sessions.CreateSession{At: byID("ab"), Profile: "p", ParentID: "a", ParentLocation: sessions.Local})
	roots := sessions.SessionID("")
	f.run(t, "both ways, whatever is active or deleted meanwhile", func(t *testing.T) {
		for _, ascending := range []bool{true, false} {
			want := slices.Clone(ids)
			if !ascending {
				slices.Reverse(want)
			}
			q := sessions.SessionQuery{Owner: owner, Parent: &roots, ByID: true, Ascending: ascending, Limit: 2}
			var got []sessions.SessionID
			for range 3 {
				page, err := w.store.Sessions(t.Context(), q)
				require.NoError(t, err)
				got, q.Cursor = append(got, idsOf(page.Sessions)...), page.NextCursor
				w.now++
				w.turn(byID("c"), w.name("question"), "reply")
				if q.Cursor != "" {
					w.remove(byID(sessions.SessionID(q.Cursor)))
					w.create(sessions.CreateSession{At: byID(sessions.SessionID(q.Cursor)), Profile: "p"})
				}
			}
			require.Empty(t, q.Cursor)
			require.Equal(t, want, got)
		}
	})
	f.run(t, "behind any id, with filters", func(t *testing.T) {
		page, err := w.store.Sessions(t.Context(), sessions.SessionQuery{Owner: owner, ByID: true, Cursor: "bb", Labels: map[string]string{"odd": "a"}})
		require.NoError(t, err)
		require.Equal(t, []sessions.SessionID{"a"}, idsOf(page.Sessions))
		page, err = w.store.Sessions(t.Context(), sessions.SessionQuery{Owner: owner, ByID: true, Profile: "nobody"})
		require.NoError(t, err)
		require.Empty(t, page.Sessions)
	})
}
