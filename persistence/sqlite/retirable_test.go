package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// Retirable looks at the roots that are old enough only, by the index of a list.
func TestRetirableFindsRootsByIndex(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "a.db"), Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	_, err = s.CreateSession(t.Context(), sessions.CreateSession{Owner: sessions.LocalOwner, NewID: "a", Now: 1})
	require.NoError(t, err)
	var plan string
	require.NoError(t, s.readers.read(t.Context(), func(db querier) error {
		return db.each(t.Context(), "EXPLAIN QUERY PLAN "+retirable, func(row scanner) error {
			var id, parent, unused int
			var detail string
			err := row.Scan(&id, &parent, &unused, &detail)
			plan += detail + "\n"
			return err
		}, 1, 1, "", false, 0, 0, 1)
	}))
	require.Contains(t, plan, "SEARCH sessions USING INDEX sessions_list_parent (owner=? AND parent_id=? AND last_active_ms<?)")
	require.NotContains(t, plan, "SCAN sessions")
}
