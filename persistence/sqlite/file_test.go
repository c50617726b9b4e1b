package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

func TestASecondHostIsRefusedNamingTheFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	first := open(t, path, sqlite.Config{})
	_, err := sqlite.Open(t.Context(), path, sqlite.Config{})
	require.Equal(t, sessions.CodeConflict, sessions.CodeOf(err))
	require.Contains(t, sessions.AsError(err).Message, fmt.Sprintf("process %d", os.Getpid()))
	require.NoError(t, accepting(t, first, "a")(), "the first host is not disturbed")
	require.NoError(t, first.Close())
	open(t, path, sqlite.Config{})
}

func TestASecondHostIsRefusedByAnyNameOfTheFile(t *testing.T) {
	folder := t.TempDir()
	path, link, dir := filepath.Join(folder, "a.db"), filepath.Join(folder, "link.db"), filepath.Join(folder, "dir")
	require.NoError(t, os.Symlink(path, link))
	require.NoError(t, os.Symlink(folder, dir))
	first := open(t, path, sqlite.Config{})
	for _, name := range []string{link, filepath.Join(dir, "a.db"), filepath.Join(dir, "link.db")} {
		_, err := sqlite.Open(t.Context(), name, sqlite.Config{})
		require.Equal(t, sessions.CodeConflict, sessions.CodeOf(err), name)
	}
	require.NoError(t, first.Close())
	open(t, link, sqlite.Config{})
	require.NoFileExists(t, link+".lock")
}

func TestOpenRefusesWhatItCannotServe(t *testing.T) {
	folder := t.TempDir()
	for name, c := range map[string]struct {
		path string
		cfg  sqlite.Config
		code sessions.Code
	}{
		"a folder that is not there":    {filepath.Join(folder, "none", "a.db"), sqlite.Config{}, sessions.CodeStoreUnavailable},
		"an unknown way to keep frames": {filepath.Join(folder, "a.db"), sqlite.Config{Frames: "paper"}, sessions.CodeInvalidRequest},
		"an unknown durability":         {filepath.Join(folder, "a.db"), sqlite.Config{Durability: "hope"}, sessions.CodeInvalidRequest},
		"a file of another kind":        {text(t, folder, strings.Repeat("this is no database ", 100)), sqlite.Config{}, sessions.CodeStoreUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sqlite.Open(t.Context(), c.path, c.cfg)
			require.Equal(t, c.code, sessions.CodeOf(err), "%v", err)
		})
	}
}

func text(t *testing.T, folder, content string) string {
	t.Helper()
	path := filepath.Join(folder, "text.db")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestASchemaThisProgramDoesNotKnowIsRefused(t *testing.T) {
	for name, statement := range map[string]string{
		"a newer version":             "INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)",
		"a migration that differs":    "UPDATE migration_hashes SET sha256 = 'else'",
		"a migration of another name": "UPDATE migration_hashes SET name = 'else.sql'",
		"a migration left out":        "DELETE FROM goose_db_version WHERE version_id = 2",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			s := open(t, path, sqlite.Config{})
			n, err := s.Exec(t.Context(), statement)
			require.NoError(t, err)
			require.Positive(t, n)
			require.NoError(t, s.Close())
			for range 2 { // and the lock is given up each time
				_, err = sqlite.Open(t.Context(), path, sqlite.Config{})
				require.Equal(t, sessions.CodeConflict, sessions.CodeOf(err), "%v", err)
			}
		})
	}
}

func TestEachOpeningIsCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	for i := range 3 {
		s := open(t, path, sqlite.Config{})
		rows, err := s.Rows(t.Context())
		require.NoError(t, err)
		require.Contains(t, rows["host"][0], fmt.Sprintf("epoch=%d;", i+1))
		require.NoError(t, s.Close())
	}
}

func TestDescribeNamesTheFileWithoutItsFolder(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{Durability: sqlite.DurabilityProcess})
	require.Equal(t, sessions.StoreInfo{Name: "sqlite:a.db", Durability: "process"}, s.Describe())
}

// crashed copies the files of a store as a crash at this moment would leave
// them, and opens the copy. The copying is a child's work: this process must
// not open the files a second time.
func crashed(t *testing.T, path, frames string) *sqlite.Store {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy.db")
	for _, suffix := range []string{"", "-wal"} {
		out, err := exec.Command("cp", path+suffix, to+suffix).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	if _, err := os.Stat(path + ".frames"); err == nil {
		require.NoError(t, os.CopyFS(to+".frames", os.DirFS(path+".frames")))
	}
	return open(t, to, sqlite.Config{Frames: frames})
}

func TestACrashInMidTurnLosesNothingAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := open(t, path, sqlite.Config{})
	a, err := s.AcceptTurn(t.Context(), prompt("a", "a"))
	require.NoError(t, err)
	after := crashed(t, path, sqlite.FramesRecord)
	require.False(t, after.ClosedCleanly())
	busy, err := after.BusyTurns(t.Context())
	require.NoError(t, err)
	require.Equal(t, []sessions.BusyTurn{{Turn: a.Turn, Session: a.Session}}, busy)
	again, err := after.AcceptTurn(t.Context(), prompt("a", "a"))
	require.NoError(t, err)
	require.True(t, again.Duplicate)
	_, err = after.CommitTurn(t.Context(), answer(a, "reply"))
	require.NoError(t, err)
}

func TestADeleteCutShortIsFinishedLater(t *testing.T) {
	finishers := map[string]func(*sqlite.Store) error{
		"by a sweep": func(s *sqlite.Store) error { return s.Sweep(context.Background(), 1_750_000_000_000) },
		"by another delete of the owner": func(s *sqlite.Store) error {
			receipt, err := s.DeleteSession(context.Background(), sessions.DeleteSession{Owner: sessions.LocalOwner, At: prompt("a", "a").At}, nil)
			if receipt != nil {
				return fmt.Errorf("the session was found again: %v", receipt)
			}
			return err
		},
	}
	for name, finish := range finishers {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			s := open(t, path, sqlite.Config{})
			require.NoError(t, accepting(t, s, "a")())
			var after *sqlite.Store
			_, err := s.DeleteSession(t.Context(), sessions.DeleteSession{Owner: sessions.LocalOwner, At: prompt("a", "a").At, TombstoneMs: 1 << 40},
				func([]sessions.DeletedSession) { after = crashed(t, path, sqlite.FramesRecord) })
			require.NoError(t, err)

			_, err = after.Session(t.Context(), sessions.LocalOwner, prompt("a", "a").At)
			require.Equal(t, sessions.CodeSessionNotFound, sessions.CodeOf(err), "hidden from the first transaction on")
			rows, err := after.Rows(t.Context())
			require.NoError(t, err)
			require.Len(t, rows["sessions"], 1)
			require.NoError(t, finish(after))
			rows, err = after.Rows(t.Context())
			require.NoError(t, err)
			for _, table := range []string{"sessions", "session_messages", "activity_frames", "turns", "dedupe_claims"} {
				require.Empty(t, rows[table], table)
			}
		})
	}
}

func TestAClearLeavesNoDeletedBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := open(t, path, sqlite.Config{})
	for i := range 50 {
		c := prompt(fmt.Sprint(i), fmt.Sprint(i))
		c.Content = sessions.Text(strings.Repeat("unforgettable ", 100))
		_, err := s.AcceptTurn(t.Context(), c)
		require.NoError(t, err)
	}
	holding := func() string {
		out, _ := exec.Command("grep", "-l", "unforgettable", path, path+"-wal").Output() // no hit is status 1
		return string(out)
	}
	require.NotEmpty(t, holding())
	receipt, err := s.ClearOwner(t.Context(), sessions.ClearOwner{Owner: sessions.LocalOwner}, nil)
	require.NoError(t, err)
	require.True(t, receipt.Compacted)
	require.EqualValues(t, 50, receipt.Rows["session_messages"])
	require.Empty(t, holding())
	// The connection is as careful as before.
	_, err = s.Exec(t.Context(), "INSERT INTO session_messages (sid, seq, created_ms, body, crc) VALUES (1, 1, 1, x'', 0)")
	require.ErrorContains(t, err, "FOREIGN KEY")
}

func TestAFullDiskRefusesWritesAndPasses(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{})
	require.NoError(t, accepting(t, s, "before")())
	require.NoError(t, s.LimitPages(1))
	large := prompt("large", "large")
	large.Content = sessions.Text(strings.Repeat("x", 1<<20))
	_, err := s.AcceptTurn(t.Context(), large)
	require.Equal(t, sessions.CodeStoreUnavailable, sessions.CodeOf(err))
	require.Contains(t, sessions.AsError(err).Message, "full")
	_, err = s.Session(t.Context(), sessions.LocalOwner, large.At)
	require.Equal(t, sessions.CodeSessionNotFound, sessions.CodeOf(err), "nothing is half-written")
	require.NoError(t, s.LimitPages(1<<30))
	_, err = s.AcceptTurn(t.Context(), large)
	require.NoError(t, err)
}
