package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

// turnOf runs a turn with a text of about a kilobyte.
func turnOf(t *testing.T, s *sqlite.Store, name, word string) {
	t.Helper()
	c := prompt(name, name)
	c.Content = sessions.Text(strings.Repeat(word+" ", 1000/len(word)))
	a, err := s.AcceptTurn(t.Context(), c)
	require.NoError(t, err)
	_, err = s.CommitTurn(t.Context(), answer(a, c.Content[0].Text))
	require.NoError(t, err)
}

func deleted(t *testing.T, s *sqlite.Store, name string) {
	t.Helper()
	receipt, err := s.DeleteSession(t.Context(), sessions.DeleteSession{Owner: sessions.LocalOwner, At: prompt(name, name).At, TombstoneMs: 1}, nil)
	require.NoError(t, err)
	require.NotNil(t, receipt)
}

func TestACompactionLeavesNoDeletedBytesAndGivesSpaceBack(t *testing.T) {
	eachWay(t, func(t *testing.T, frames string) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "a ' b.db")
		s := open(t, path, sqlite.Config{Frames: frames, Durability: sqlite.DurabilityProcess})
		const count = 200
		for n := range count {
			turnOf(t, s, fmt.Sprint("gone-", n), "unforgettable")
		}
		turnOf(t, s, "kept", "remembered")
		for n := range count {
			deleted(t, s, fmt.Sprint("gone-", n))
		}
		require.True(t, holds(t, path, "unforgettable"), "what a delete alone leaves")
		look, err := s.Compact(t.Context(), true)
		require.NoError(t, err)

		done, err := s.Compact(t.Context(), false)
		require.NoError(t, err)
		require.Equal(t, look.BytesBefore, done.BytesBefore)
		require.Less(t, done.BytesAfter, done.BytesBefore-count*1000)
		want := []string{path, path + "-wal", path + "-shm", path + ".ballast", path + ".lock"}
		if frames == sqlite.FramesFile {
			want = append(want, path+".frames")
		}
		require.Equal(t, want, done.Files)
		require.False(t, holds(t, path, "unforgettable"))
		require.True(t, holds(t, path, "remembered"))
		journal, err := os.Stat(path + "-wal")
		require.NoError(t, err)
		require.Zero(t, journal.Size())

		for option, value := range map[string]string{"temp_store": "2", "secure_delete": "1", "foreign_keys": "1"} {
			got, err := s.Pragma(option)
			require.NoError(t, err)
			require.Equal(t, value, got, "the connection is as careful as before: %s", option)
		}
		turnOf(t, s, "after", "another")
	})
}

// What a delete that was cut short has left goes with a compaction.
func TestACompactionFinishesDeletes(t *testing.T) {
	eachWay(t, func(t *testing.T, frames string) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "a.db")
		s := open(t, path, sqlite.Config{Frames: frames})
		turnOf(t, s, "gone", "unforgettable")
		var after *sqlite.Store
		_, err := s.DeleteSession(t.Context(), sessions.DeleteSession{Owner: sessions.LocalOwner, At: prompt("gone", "").At, TombstoneMs: 1},
			func([]sessions.DeletedSession) { after = crashed(t, path, frames) })
		require.NoError(t, err)

		look, err := after.Compact(t.Context(), true)
		require.NoError(t, err)
		copied := look.Files[0]
		require.True(t, holds(t, copied, "unforgettable"))
		_, err = after.Compact(t.Context(), false)
		require.NoError(t, err)
		require.False(t, holds(t, copied, "unforgettable"))
		rows, err := after.Rows(t.Context())
		require.NoError(t, err)
		require.Empty(t, rows["sessions"])
	})
}

func TestACompactionWithoutRoomIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := open(t, path, sqlite.Config{})
	for n := range 100 {
		turnOf(t, s, fmt.Sprint(n), "kept")
	}
	before, err := s.Rows(t.Context())
	require.NoError(t, err)
	restore := s.HaveRoom(10_000)
	_, err = s.Compact(t.Context(), false)
	require.Equal(t, sessions.CodeStoreUnavailable, sessions.CodeOf(err))
	refusal := sessions.AsError(err)
	require.Regexp(t, `needs \d+ bytes of free space and its disk has 10000;`, refusal.Message)
	need := refusal.Details["needBytes"].(int64)
	size, err := s.Size()
	require.NoError(t, err)
	require.GreaterOrEqual(t, need, size, "at least the size of the database")
	after, err := s.Rows(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, after)

	restore()
	s.HaveRoom(need)
	_, err = s.Compact(t.Context(), false)
	require.NoError(t, err)
}

func TestACompactionOnARealDiskNeedsTheRoomItSays(t *testing.T) {
	path := filepath.Join(smallDisk(t, "24m"), "a.db")
	s := open(t, path, sqlite.Config{})
	large := prompt("large", "large")
	large.Content = sessions.Text(strings.Repeat("x", 4<<20))
	_, err := s.AcceptTurn(t.Context(), large)
	require.NoError(t, err)
	filler := filepath.Join(filepath.Dir(path), "filler")
	require.NoError(t, os.WriteFile(filler, make([]byte, 4<<20), 0o600))
	_, err = s.Compact(t.Context(), false)
	require.Contains(t, sessions.AsError(err).Message, "bytes of free space")
	require.NoError(t, os.Remove(filler))
}

// A reader keeps the journal: writes go on, and the caller is told in the end.
func TestAReaderInTheWayOfACompactionIsWaitedForAndTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := open(t, path, sqlite.Config{})
	turnOf(t, s, "gone", "unforgettable")
	_, err := s.Pragma("busy_timeout = 20") // milliseconds
	require.NoError(t, err)
	other, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer other.Close()
	reader, err := other.Conn(t.Context())
	require.NoError(t, err)
	defer reader.Close()
	_, err = reader.ExecContext(t.Context(), "BEGIN")
	require.NoError(t, err)
	var n int
	require.NoError(t, reader.QueryRowContext(t.Context(), "SELECT count(*) FROM sessions").Scan(&n))

	deleted(t, s, "gone")
	_, err = s.Compact(t.Context(), false)
	require.Equal(t, sessions.CodeStoreUnavailable, sessions.CodeOf(err))
	require.Contains(t, sessions.AsError(err).Message, "a long read keeps its journal")
	require.NoError(t, accepting(t, s, "meanwhile")())

	_, err = reader.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	_, err = s.Compact(t.Context(), false)
	require.NoError(t, err)
	require.False(t, holds(t, path, "unforgettable"))
}

// A compaction waits its turn in a full queue, in which a prompt is refused.
func TestACompactionOfAnOverloadedStoreWaitsItsTurn(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{QueueLimit: 1})
	release := held(t, s)
	queued := make(chan error, 1)
	go func() { queued <- accepting(t, s, "queued")() }()
	s.AwaitQueued(1)
	require.Equal(t, sessions.CodeOverloaded, sessions.CodeOf(accepting(t, s, "refused")()))
	gaveUp, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Compact(gaveUp, false)
	require.Equal(t, sessions.ErrOutcomeUnknown.Message, sessions.AsError(err).Message)
	release()
	require.NoError(t, <-queued)
	_, err = s.Compact(t.Context(), false)
	require.NoError(t, err)
}

func TestAClosedStoreIsNotCompacted(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{})
	require.NoError(t, s.Close())
	_, err := s.Compact(t.Context(), false)
	require.Equal(t, sessions.CodeStoreUnavailable, sessions.CodeOf(err))
}
