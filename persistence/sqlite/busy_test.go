package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

// Another process that locks the file makes writes wait, then refuses them; it
// loses nothing that was acknowledged.
func TestAFileLockedByAnotherRefusesWritesAndPasses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := open(t, path, sqlite.Config{})
	require.NoError(t, accepting(t, s, "before")())
	_, err := s.Pragma("busy_timeout = 20") // milliseconds
	require.NoError(t, err)

	other, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer other.Close()
	holder, err := other.Conn(t.Context())
	require.NoError(t, err)
	defer holder.Close()
	_, err = holder.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)

	errs := make([]error, 3)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() { errs[i] = accepting(t, s, fmt.Sprint(i))() })
	}
	group.Wait()
	for _, err := range errs {
		require.Equal(t, sessions.CodeStoreUnavailable, sessions.CodeOf(err))
		require.Contains(t, sessions.AsError(err).Message, "locked")
	}
	_, err = s.Session(t.Context(), sessions.LocalOwner, prompt("before", "x").At)
	require.NoError(t, err, "reads go on")

	_, err = holder.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	require.NoError(t, accepting(t, s, "1")())
	busy, err := s.BusyTurns(t.Context())
	require.NoError(t, err)
	require.Len(t, busy, 2)
}
