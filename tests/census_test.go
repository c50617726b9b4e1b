package tests

import (
	"bytes"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// census is where a database and its folder of frames name something, by the
// schema as it is, so that a table of tomorrow is looked at too.
type census struct {
	named []string // "table.column" or a file, where the text stands
	owned []string // tables with a row of one of the lives
}

// takeCensus looks through every cell of every table of a database that nobody
// has open, and through the files beside it, for a text and for rows of lives.
// A tombstone says which life has ended, and is not of it.
func takeCensus(t *testing.T, file, text string, lives []int64) census {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	defer db.Close()
	var c census
	for _, table := range tablesOf(t, db) {
		c.addTable(t, db, table, text, lives)
	}
	c.addFiles(t, file+".frames", text)
	slices.Sort(c.named)
	slices.Sort(c.owned)
	c.named, c.owned = slices.Compact(c.named), slices.Compact(c.owned)
	return c
}

// addTable looks into one table.
func (c *census) addTable(t *testing.T, db *sql.DB, table, text string, lives []int64) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT * FROM "`+table+`"`)
	require.NoError(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(t, err)
	cells, into := make([]sql.RawBytes, len(columns)), make([]any, len(columns))
	for i := range cells {
		into[i] = &cells[i]
	}
	for rows.Next() {
		require.NoError(t, rows.Scan(into...))
		for i, cell := range cells {
			if bytes.Contains(cell, []byte(text)) {
				c.named = append(c.named, table+"."+columns[i])
			}
			if columns[i] == "sid" && !strings.HasSuffix(table, "_tombstones") && isAnyOf(cell, lives) {
				c.owned = append(c.owned, table)
			}
		}
	}
	require.NoError(t, rows.Err())
}

func tablesOf(t *testing.T, db *sql.DB) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
	require.NoError(t, err)
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		names = append(names, name)
	}
	require.NoError(t, rows.Err())
	return names
}

func isAnyOf(cell []byte, lives []int64) bool {
	return slices.ContainsFunc(lives, func(life int64) bool { return string(cell) == fmt.Sprint(life) })
}

// addFiles looks into the files of frames, if there are any.
func (c *census) addFiles(t *testing.T, folder, text string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			c.named = append(c.named, "frames")
		}
		return err
	})
	require.NoError(t, err)
}

// livesOf returns the lives of the sessions whose ids begin with a prefix.
func livesOf(t *testing.T, file, prefix string) []int64 {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), "SELECT sid FROM sessions WHERE id LIKE ? || '%'", prefix)
	require.NoError(t, err)
	defer rows.Close()
	var lives []int64
	for rows.Next() {
		var life int64
		require.NoError(t, rows.Scan(&life))
		lives = append(lives, life)
	}
	require.NoError(t, rows.Err())
	return lives
}

// damage breaks a stored message of a session in a database that nobody has open.
func damage(t *testing.T, file string, id sessions.SessionID) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	defer db.Close()
	done, err := db.ExecContext(t.Context(),
		"UPDATE session_messages SET crc = crc + 1 WHERE seq = 1 AND sid = (SELECT sid FROM sessions WHERE id = ?)", id)
	require.NoError(t, err)
	n, err := done.RowsAffected()
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
}
