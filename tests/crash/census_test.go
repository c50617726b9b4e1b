package crash

import (
	"database/sql"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/persistence/sqlite"
	"agenthost/sessions"
	"agenthost/tests/rows"
)

// marked finds the ids that the campaigns of removals give: whatever is stored
// of such a session names it.
var marked = regexp.MustCompile(`fam-[a-z0-9-]+-x`)

// census is what a database holds, found by reading its schema, so that a table
// of tomorrow is looked at too.
type census struct {
	living map[sessions.SessionID]int64    // the life of each session that can be seen
	hidden map[sessions.SessionID]int64    // and of those that are being removed
	named  map[sessions.SessionID][]string // where a marked id stands, as "table.column"
}

// takeCensus reads every row of every table.
func takeCensus(t *testing.T, db *sql.DB) census {
	t.Helper()
	c := census{lives(t, db, "deleted_ms IS NULL"), lives(t, db, "deleted_ms IS NOT NULL"), map[sessions.SessionID][]string{}}
	for _, table := range rows.Tables(t, db) {
		for place, ids := range marksIn(t, db, table) {
			for _, id := range ids {
				c.named[id] = append(c.named[id], place)
			}
		}
	}
	return c
}

func lives(t *testing.T, db *sql.DB, which string) map[sessions.SessionID]int64 {
	t.Helper()
	all := map[sessions.SessionID]int64{}
	for _, pair := range rows.Column(t, db, "SELECT sid || ' ' || id FROM main.sessions WHERE "+which) {
		sid, id, _ := strings.Cut(pair, " ")
		n, err := strconv.ParseInt(sid, 10, 64)
		require.NoError(t, err)
		all[sessions.SessionID(id)] = n
	}
	return all
}

// marksIn returns the marked ids in each column of a table.
func marksIn(t *testing.T, db *sql.DB, table string) map[string][]sessions.SessionID {
	t.Helper()
	columns, cells := rows.Of(t, db, table)
	found := map[string]map[sessions.SessionID]bool{}
	for _, row := range cells {
		for i, cell := range row {
			for _, id := range marked.FindAllString(cell, -1) {
				place := table + "." + columns[i]
				if found[place] == nil {
					found[place] = map[sessions.SessionID]bool{}
				}
				found[place][sessions.SessionID(id)] = true
			}
		}
	}
	all := map[string][]sessions.SessionID{}
	for place, ids := range found {
		all[place] = slices.Collect(maps.Keys(ids))
	}
	return all
}

// requireNoOrphans requires that every row that hangs on a session has it, in
// whatever table there is a column for that. Tombstones name lives that are over.
func requireNoOrphans(t *testing.T, db *sql.DB) {
	t.Helper()
	for _, table := range rows.Column(t, db, `SELECT m.name FROM main.sqlite_schema m JOIN pragma_table_info(m.name) c
        WHERE m.type = 'table' AND c.name = 'sid' AND m.name NOT LIKE '%\_tombstones' ESCAPE '\' ORDER BY 1`) {
		require.Empty(t, rows.Column(t, db, `SELECT sid FROM main."`+table+`" WHERE sid NOT IN (SELECT sid FROM main.sessions)`), table)
	}
}

// requireSwept lets a sweep go over what a kill has left, as the next start
// does, and requires that nothing is there then but sessions that can be seen:
// no row, no file, no mention of another. It returns what is there.
func requireSwept(t *testing.T, path string) census {
	t.Helper()
	file := copiedWhole(t, path)
	store, err := sqlite.Open(t.Context(), file, sqlite.Config{})
	require.NoError(t, err)
	require.NoError(t, store.Sweep(t.Context(), sessions.Time(time.Now().UnixMilli())))
	require.NoError(t, store.Close())
	return requireNothingBut(t, file)
}

// requireNothingBut requires of a store that no process has that it holds
// sessions that can be seen and nothing of others.
func requireNothingBut(t *testing.T, path string) census {
	t.Helper()
	db := opened(t, path)
	defer db.Close()
	c := takeCensus(t, db)
	require.Empty(t, c.hidden, "a sweep leaves no session half removed")
	requireNoOrphans(t, db)
	for id, places := range c.named {
		require.Contains(t, c.living, id, "a session that is gone stands in %v", places)
	}
	lives := slices.Collect(maps.Values(c.living))
	for _, life := range frameLives(t, path) {
		require.Contains(t, lives, life, "a folder of frames belongs to no session")
	}
	return c
}

// frameLives returns the lives that have files of frames.
func frameLives(t *testing.T, path string) []int64 {
	t.Helper()
	entries, err := os.ReadDir(path + ".frames")
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	var all []int64
	for _, entry := range entries {
		life, err := strconv.ParseInt(entry.Name(), 10, 64)
		require.NoError(t, err)
		all = append(all, life)
	}
	return all
}

// copiedWhole is copied with the files of frames.
func copiedWhole(t *testing.T, path string) string {
	t.Helper()
	to := copied(t, path)
	from := path + ".frames"
	if !exists(from) {
		return to
	}
	require.NoError(t, filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at := to + ".frames" + strings.TrimPrefix(name, from)
		if entry.IsDir() {
			return os.MkdirAll(at, 0o700)
		}
		return os.Link(name, at) // a sweep removes files and changes none
	}))
	return to
}
