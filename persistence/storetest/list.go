package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// testList asks for sessions of every kind by every filter.
func testList(t *testing.T, f Factory) {
	w := newWorld(t, f)
	make1 := func(id sessions.SessionID, c sessions.CreateSession) {
		w.now++
		c.At.ID = id
		w.create(c)
	}
	make1("parent", sessions.CreateSession{Profile: "p1"})
	make1("plain", sessions.CreateSession{Profile: "p1", AgentID: "agent", Labels: map[string]string{"team": "blue", "k'\"$": "v"}})
	make1("keyed-1", sessions.CreateSession{At: byKey("doc", "p1"), Labels: map[string]string{"team": "red"}})
	make1("keyed-2", sessions.CreateSession{At: byKey("doc", "p2"), Labels: map[string]string{"team": "blue", "size": "l"}})
	make1("child-1", sessions.CreateSession{Profile: "p2", ParentID: "parent", ParentLocation: sessions.Local})
	make1("child-2", sessions.CreateSession{Profile: "p1", ParentID: "parent", ParentLocation: sessions.Local, Labels: map[string]string{"team": "blue"}})
	make1("elsewhere", sessions.CreateSession{Owner: "other", AgentID: "agent", Profile: "p1"})
	w.now++
	w.turn(byID("plain"), "question", "reply")
	w.now++
	w.end(w.accept(w.prompt(byID("child-1"), "question")), sessions.TurnIsFailed, failure(sessions.CodeAgentTimeout))
	w.now++
	w.accept(w.prompt(byID("keyed-2"), "question"))

	none, agent := sessions.AgentID(""), sessions.AgentID("agent")
	roots, parent := sessions.SessionID(""), sessions.SessionID("parent")
	for name, c := range map[string]struct {
		q    sessions.SessionQuery
		want []sessions.SessionID
	}{
		"all":                   {sessions.SessionQuery{}, []sessions.SessionID{"keyed-2", "child-1", "plain", "child-2", "keyed-1", "parent"}},
		"a limit":               {sessions.SessionQuery{Limit: 2}, []sessions.SessionID{"keyed-2", "child-1"}},
		"a target":              {sessions.SessionQuery{TargetKey: "doc"}, []sessions.SessionID{"keyed-2", "keyed-1"}},
		"a key":                 {sessions.SessionQuery{TargetKey: "doc", Profile: "p1"}, []sessions.SessionID{"keyed-1"}},
		"an unknown target":     {sessions.SessionQuery{TargetKey: "nobody"}, nil},
		"a profile":             {sessions.SessionQuery{Profile: "p1"}, []sessions.SessionID{"plain", "child-2", "keyed-1", "parent"}},
		"a status":              {sessions.SessionQuery{Statuses: []sessions.Status{"idle"}}, []sessions.SessionID{"plain"}},
		"statuses":              {sessions.SessionQuery{Statuses: []sessions.Status{"running", "failed", "created", "failed"}}, []sessions.SessionID{"keyed-2", "child-1", "child-2", "keyed-1", "parent"}},
		"statuses and a limit":  {sessions.SessionQuery{Statuses: []sessions.Status{"running", "created"}, Limit: 2}, []sessions.SessionID{"keyed-2", "child-2"}},
		"statuses and a key":    {sessions.SessionQuery{TargetKey: "doc", Statuses: []sessions.Status{"idle", "created"}}, []sessions.SessionID{"keyed-1"}},
		"roots":                 {sessions.SessionQuery{Parent: &roots}, []sessions.SessionID{"keyed-2", "plain", "keyed-1", "parent"}},
		"children":              {sessions.SessionQuery{Parent: &parent}, []sessions.SessionID{"child-1", "child-2"}},
		"children and a status": {sessions.SessionQuery{Parent: &parent, Statuses: []sessions.Status{"failed"}}, []sessions.SessionID{"child-1"}},
		"roots and a status":    {sessions.SessionQuery{Parent: &roots, Statuses: []sessions.Status{"idle"}}, []sessions.SessionID{"plain"}},
		"a label":               {sessions.SessionQuery{Labels: map[string]string{"team": "blue"}}, []sessions.SessionID{"keyed-2", "plain", "child-2"}},
		"labels":                {sessions.SessionQuery{Labels: map[string]string{"team": "blue", "size": "l"}}, []sessions.SessionID{"keyed-2"}},
		"a strange label":       {sessions.SessionQuery{Labels: map[string]string{"k'\"$": "v"}}, []sessions.SessionID{"plain"}},
		"an agent":              {sessions.SessionQuery{Agent: &agent}, []sessions.SessionID{"plain"}},
		"an agent and a status": {sessions.SessionQuery{Agent: &agent, Statuses: []sessions.Status{"running", "created"}}, nil},
		"no agent":              {sessions.SessionQuery{Agent: &none, Limit: 3}, []sessions.SessionID{"keyed-2", "child-1", "child-2"}},
		"labels and a limit":    {sessions.SessionQuery{Labels: map[string]string{"team": "blue"}, Limit: 2}, []sessions.SessionID{"keyed-2", "plain"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.q.Owner = owner
			page, err := w.store.Sessions(t.Context(), c.q)
			require.NoError(t, err)
			require.Equal(t, c.want, idsOf(page.Sessions))
			for _, s := range page.Sessions {
				require.Equal(t, w.get(byID(s.ID)), s)
			}
		})
	}
	f.run(t, "case-47: 50 roots among 1,000 children", func(t *testing.T) { rootsAmongChildren(t, f) })
	f.run(t, "a cursor of another filter is invalid", func(t *testing.T) {
		page, err := w.store.Sessions(t.Context(), sessions.SessionQuery{Owner: owner, Limit: 1})
		require.NoError(t, err)
		require.NotEmpty(t, page.NextCursor)
		for _, q := range []sessions.SessionQuery{
			{Owner: owner, Profile: "p1", Cursor: page.NextCursor},
			{Owner: owner, Agent: &agent, Cursor: page.NextCursor},
			{Owner: "other", Cursor: page.NextCursor},
			{Owner: owner, Cursor: "nonsense"},
		} {
			_, err := w.store.Sessions(t.Context(), q)
			requireCode(t, sessions.CodeInvalidRequest, err)
		}
	})
}

// rootsAmongChildren has the filter come before the limit.
func rootsAmongChildren(t *testing.T, f Factory) {
	w := newWorld(t, f)
	const roots, children = 50, 20
	for i := range roots {
		w.now++
		root := w.root(sessions.SessionID(fmt.Sprintf("root-%02d", i)))
		for range children {
			w.now++ // every child is more recent than its root
			w.create(sessions.CreateSession{Profile: sessions.DefaultProfile, ParentID: root.ID, ParentLocation: sessions.Local})
		}
	}
	none := sessions.SessionID("")
	page, err := w.store.Sessions(t.Context(), sessions.SessionQuery{Owner: owner, Parent: &none, Limit: roots})
	require.NoError(t, err)
	require.Len(t, page.Sessions, roots)
	require.Empty(t, page.NextCursor)
	for _, s := range page.Sessions {
		require.Empty(t, s.ParentID)
	}
	one := sessions.SessionID("root-07")
	page, err = w.store.Sessions(t.Context(), sessions.SessionQuery{Owner: owner, Parent: &one, Limit: children + 1})
	require.NoError(t, err)
	require.Len(t, page.Sessions, children)
}

func idsOf(list []sessions.Session) (ids []sessions.SessionID) {
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	return ids
}
