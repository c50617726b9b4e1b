package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// testWalk walks the list while sessions change under way.
func testWalk(t *testing.T, f Factory) {
	w := newWorld(t, f)
	const count = 220
	for i := range count {
		w.now += sessions.Time(i % 2) // pairs share a millisecond
		w.create(sessions.CreateSession{At: byID(sessions.SessionID(fmt.Sprintf("s-%03d", i))), Profile: "p"})
	}
	touched := map[sessions.SessionID]bool{}
	touch := func(id sessions.SessionID) {
		touched[id] = true
		w.now++
		w.turn(byID(id), "question", "reply")
	}
	seen := map[sessions.SessionID]int{}
	q := sessions.SessionQuery{Owner: owner, Profile: "p", Limit: 20}
	for page := 0; ; page++ {
		require.Less(t, page, count)
		got, err := w.store.Sessions(t.Context(), q)
		require.NoError(t, err)
		for _, s := range got.Sessions {
			seen[s.ID]++
		}
		if got.NextCursor == "" {
			break
		}
		touch(got.Sessions[len(got.Sessions)-1].ID)                    // the cursor's own
		touch(sessions.SessionID(fmt.Sprintf("s-%03d", page)))         // one yet to come
		touch(sessions.SessionID(fmt.Sprintf("s-%03d", count-1-page))) // one long past
		w.session()                                                    // a new one
		q.Cursor = got.NextCursor
	}
	for i := range count {
		id := sessions.SessionID(fmt.Sprintf("s-%03d", i))
		require.LessOrEqual(t, seen[id], 1, "%s came twice", id)
		if !touched[id] {
			require.Equal(t, 1, seen[id], "%s did not change and must come once", id)
		}
	}
	f.run(t, "the order is by activity, then by id, both falling", func(t *testing.T) {
		page, err := w.store.Sessions(t.Context(), sessions.SessionQuery{Owner: owner, Limit: count * 2})
		require.NoError(t, err)
		for i, s := range page.Sessions[1:] {
			before := page.Sessions[i]
			ordered := before.LastActiveAt > s.LastActiveAt || before.LastActiveAt == s.LastActiveAt && before.ID > s.ID
			require.True(t, ordered, "%s before %s", before.ID, s.ID)
		}
	})
}
