package sqlite_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

// made makes a session, below a parent unless that is "".
func made(t *testing.T, s *sqlite.Store, id, parent sessions.SessionID) sessions.Session {
	t.Helper()
	c := sessions.CreateSession{Owner: sessions.LocalOwner, At: sessions.Address{ID: id}, Profile: "p"}
	if parent != "" {
		c.ParentID, c.ParentLocation = parent, sessions.Local
	}
	got, err := s.CreateSession(t.Context(), c)
	require.NoError(t, err)
	return got.Session
}

// Deletes of older versions left children of a parent that is gone.
func TestATreeGoesWhoseRootIsGone(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{})
	made(t, s, "root", "")
	made(t, s, "child", "root")
	made(t, s, "below", "child")
	_, err := s.Exec(t.Context(), "UPDATE sessions SET deleted_ms = 1 WHERE id = 'root'")
	require.NoError(t, err)

	remove := func(children sessions.ChildPolicy, at sessions.SessionID) (gone []sessions.SessionID) {
		t.Helper()
		receipt, err := s.DeleteSession(t.Context(), sessions.DeleteSession{Owner: sessions.LocalOwner,
			At: sessions.Address{ID: at}, Children: children}, func(all []sessions.DeletedSession) {
			for _, d := range all {
				gone = append(gone, d.ID)
			}
		})
		require.NoError(t, err)
		require.Equal(t, len(gone) > 0, receipt != nil)
		return gone
	}
	require.Equal(t, []sessions.SessionID{"child", "below"}, remove(sessions.Cascade, "root"))
	require.Empty(t, remove(sessions.Cascade, "root"))

	made(t, s, "root", "")
	made(t, s, "child", "root")
	_, err = s.Exec(t.Context(), "UPDATE sessions SET deleted_ms = 1 WHERE id = 'root'")
	require.NoError(t, err)
	require.Empty(t, remove(sessions.Detach, "root"))
	require.Empty(t, remove(sessions.Cascade, "root"), "it has been detached")
	require.Equal(t, []sessions.SessionID{"child"}, remove(sessions.Cascade, "child"))
}

// What the first transaction of a delete does costs what the tree is, however
// many other sessions there are.
func TestADeleteScansNothing(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{})
	plans, err := s.TreePlans()
	require.NoError(t, err)
	for name, index := range map[string]string{
		"tree":     "sessions_list_parent (owner=? AND parent_id=?)",
		"hide":     "INTEGER PRIMARY KEY (rowid=?)",
		"claims":   "dedupe_claims_by_session (sid=?)",
		"unclaim":  "dedupe_claims_by_session (sid=?)",
		"children": "sub_session_refs_by_child (child_id=?)",
		"origins":  "sessions_forked_from (owner=? AND forked_from=?)",
		"roots":    "sessions_list_parent (owner=? AND parent_id=?)",
	} {
		plan := plans[name]
		require.Contains(t, plan, index, name)
		for line := range strings.Lines(plan) {
			scan := strings.HasPrefix(line, "SCAN") && !strings.HasPrefix(line, "SCAN json_each") &&
				!strings.HasPrefix(line, "SCAN tree") && !strings.HasPrefix(line, "SCAN CONSTANT ROW")
			require.False(t, scan, "%s: %s", name, plan)
		}
	}
}

// Every table that names a life is emptied by a delete, or is one of those that
// must outlive it.
func TestTablesOfALifeAreKnown(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{})
	named, err := s.TablesOfLives(t.Context())
	require.NoError(t, err)
	known := slices.Concat(sqlite.RemovedTables(), []string{"claim_tombstones", "session_tombstones", "unheard_deletes"})
	require.ElementsMatch(t, known, named, "add the table to childTables in remove.go")
}

func TestRefsOfAnOlderVersionAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	require.NoError(t, sqlite.MakeOlder(t.Context(), path, []string{"00001_sessions.sql"},
		`INSERT INTO owners (owner) VALUES ('local')`,
		`INSERT INTO sessions (sid, owner, generation, id, target_key, profile_key, epoch, status, title, labels,
            parent_id, parent_location, created_ms, last_active_ms)
        VALUES (1, 'local', 1, 'parent', '', 'p', 1, 'created', '', '{}', '', '', 1, 1),
            (2, 'local', 1, 'child', '', 'helper', 1, 'idle', '', '{}', 'parent', 'local', 1, 1)`,
		`INSERT INTO sub_session_refs (sid, child_id, location, created_ms)
        VALUES (1, 'gone', 'local', 7), (1, 'child', 'local', 5), (1, 'far', 'remote', 6)`))
	s := open(t, path, sqlite.Config{})
	refs, err := s.Refs(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, []sessions.Ref{
		{SessionID: "child", Location: sessions.Local, ProfileKey: "helper", Status: "idle", CreatedAt: 5},
		{SessionID: "far", Location: sessions.Remote, Status: sessions.RefIdle, CreatedAt: 6},
		{SessionID: "gone", Location: sessions.Local, Status: sessions.RefGone, CreatedAt: 7},
	}, refs)
	_, err = s.Exec(t.Context(), "UPDATE sub_session_refs SET location = 'elsewhere'")
	require.Error(t, err, "the schema still refuses what is no location")
}
