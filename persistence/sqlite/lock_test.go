package sqlite_test

import (
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/persistence/sqlite"
)

// A process that is being started has, for a moment, a copy of the lock's
// descriptor: a store that is closed then must be free all the same.
func TestCloseFreesTheFileWhileProcessesStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agenthost.db")
	stop := make(chan struct{})
	var starting sync.WaitGroup
	defer starting.Wait()
	defer close(stop)
	for range 4 {
		starting.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = exec.CommandContext(t.Context(), "true").Run() // what it says does not matter
				}
			}
		})
	}
	for range 40 {
		s, err := sqlite.Open(t.Context(), path, sqlite.Config{Durability: sqlite.DurabilityProcess})
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
}
