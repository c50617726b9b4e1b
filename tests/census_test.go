package tests

import (
	"bytes"
	"database/sql"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
	"agenthost/tests/rows"
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
func takeCensus(t *testing.T, file, text string, lives []string) census {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	defer db.Close()
	var c census
	for _, table := range rows.Tables(t, db) {
		c.addTable(t, db, table, text, lives)
	}
	c.addFiles(t, file+".frames", text)
	slices.Sort(c.named)
	slices.Sort(c.owned)
	c.named, c.owned = slices.Compact(c.named), slices.Compact(c.owned)
	return c
}

// addTable looks into one table.
func (c *census) addTable(t *testing.T, db *sql.DB, table, text string, lives []string) {
	t.Helper()
	columns, cells := rows.Of(t, db, table)
	for _, row := range cells {
		for i, cell := range row {
			if strings.Contains(cell, text) {
				c.named = append(c.named, table+"."+columns[i])
			}
			if columns[i] == "sid" && !strings.HasSuffix(table, "_tombstones") && slices.Contains(lives, cell) {
				c.owned = append(c.owned, table)
			}
		}
	}
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
func livesOf(t *testing.T, file, prefix string) []string {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	defer db.Close()
	return rows.Column(t, db, "SELECT sid FROM sessions WHERE id LIKE ? || '%'", prefix)
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
