package storetest

import (
	"fmt"
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
	f.run(t, "those of a saved agent, both ways", func(t *testing.T) { listByAgent(t, f) })
	f.run(t, "behind any id, with filters", func(t *testing.T) {
		page, err := w.store.Sessions(t.Context(), sessions.SessionQuery{Owner: owner, ByID: true, Cursor: "bb", Labels: map[string]string{"odd": "a"}})
		require.NoError(t, err)
		require.Equal(t, []sessions.SessionID{"a"}, idsOf(page.Sessions))
		page, err = w.store.Sessions(t.Context(), sessions.SessionQuery{Owner: owner, ByID: true, Profile: "nobody"})
		require.NoError(t, err)
		require.Empty(t, page.Sessions)
	})
}

// listByAgent has sessions of two agents and of none, between each other.
func listByAgent(t *testing.T, f Factory) {
	w := newWorld(t, f)
	agents := []sessions.AgentID{"one", "two", ""}
	want := map[sessions.AgentID][]sessions.SessionID{}
	for i := range 15 {
		agent, id := agents[i%len(agents)], sessions.SessionID(fmt.Sprintf("s-%02d", i))
		w.create(sessions.CreateSession{At: byID(id), AgentID: agent, Profile: "p"})
		want[agent] = append(want[agent], id)
	}
	w.create(sessions.CreateSession{Owner: "other", At: byID("s-00a"), AgentID: "one", Profile: "p"})
	w.create(sessions.CreateSession{At: byID("s-00b"), AgentID: "one", Profile: "p", ParentID: "s-00", ParentLocation: sessions.Local})
	w.remove(byID("s-03"))
	want["one"] = slices.DeleteFunc(want["one"], func(id sessions.SessionID) bool { return id == "s-03" })
	if f.Reopen != nil {
		w.reopen()
	}
	roots := sessions.SessionID("")
	walk := func(agent sessions.AgentID, ascending bool) (got []sessions.SessionID) {
		q := sessions.SessionQuery{Owner: owner, Agent: &agent, Parent: &roots, ByID: true, Ascending: ascending, Limit: 2}
		for {
			page, err := w.store.Sessions(t.Context(), q)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page.Sessions), q.Limit)
			for _, s := range page.Sessions {
				require.Equal(t, agent, s.AgentID)
			}
			got = append(got, idsOf(page.Sessions)...)
			if q.Cursor = page.NextCursor; q.Cursor == "" {
				return got
			}
		}
	}
	for _, agent := range agents {
		require.Equal(t, want[agent], walk(agent, true), "of %q", agent)
		slices.Reverse(want[agent])
		require.Equal(t, want[agent], walk(agent, false), "of %q", agent)
	}
	require.Empty(t, walk("nobody", true))
}
