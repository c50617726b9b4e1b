package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

// Each filter of the list is walked in the order of an index of its own: its
// page costs the same however many sessions there are.
func TestListFiltersSortNothing(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{})
	for i := range 3 {
		require.NoError(t, accepting(t, s, fmt.Sprint(i))())
	}
	root, parent := sessions.SessionID(""), sessions.SessionID("p")
	none, agent := sessions.AgentID(""), sessions.AgentID("a")
	for name, c := range map[string]struct {
		q     sessions.SessionQuery
		index string
	}{
		"none":     {sessions.SessionQuery{}, "sessions_list"},
		"status":   {sessions.SessionQuery{Statuses: []sessions.Status{"idle"}}, "sessions_list_status"},
		"target":   {sessions.SessionQuery{TargetKey: "t", Statuses: []sessions.Status{"idle", "failed"}}, "sessions_list_target"},
		"profile":  {sessions.SessionQuery{Profile: "p"}, "sessions_list_profile"},
		"children": {sessions.SessionQuery{Parent: &parent, Profile: "p"}, "sessions_list_parent"},
		"roots":    {sessions.SessionQuery{Parent: &root}, "sessions_list_parent"},
		"labels":   {sessions.SessionQuery{Labels: map[string]string{"a": "b"}}, "sessions_list"},
		"by id":    {sessions.SessionQuery{ByID: true, Agent: &none}, "sessions_by_id"},
		"an agent": {sessions.SessionQuery{ByID: true, Agent: &agent, Parent: &root}, "sessions_by_agent"},
	} {
		for _, second := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, second page %t", name, second), func(t *testing.T) {
				c.q.Owner = sessions.LocalOwner
				plan, err := s.ListPlan(t.Context(), c.q, second)
				require.NoError(t, err)
				require.Contains(t, plan, "USING INDEX "+c.index+" (")
				require.NotContains(t, plan, "TEMP B-TREE")
				require.NotContains(t, plan, "SCAN sessions")
				switch {
				case second && c.q.ByID:
					require.Contains(t, plan, " AND id<?", "the cursor is a place in the index")
				case second:
					require.Contains(t, plan, "last_active_ms", "the cursor is a place in the index")
				}
			})
		}
	}
}
