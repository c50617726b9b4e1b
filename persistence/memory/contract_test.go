package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/persistence/memory"
	"agenthost/persistence/storetest"
	"agenthost/sessions"
)

// TestContract tries the store against all that the port promises.
func TestContract(t *testing.T) {
	// What has no hook is left out: a store that keeps nothing cannot be opened
	// again, and it has no files that could be damaged.
	storetest.Factory{
		Open: func(t *testing.T) sessions.Store {
			t.Helper()
			return open(t, memory.Config{})
		},
		Keeping: func(t *testing.T, frames int64) sessions.Store {
			t.Helper()
			return open(t, memory.Config{FramesPerSession: frames})
		},
		Rows: func(t *testing.T, s sessions.Store) map[string][]string {
			t.Helper()
			return s.(*memory.Store).Rows()
		},
		Unused: []string{"generations", "cleared"}, // only a clear writes to them
		InsertUsage: func(t *testing.T, s sessions.Store, life sessions.Incarnation) {
			t.Helper()
			s.(*memory.Store).InsertUsage(life)
		},
		CountUsage: func(t *testing.T, s sessions.Store, life sessions.Incarnation) int {
			t.Helper()
			return s.(*memory.Store).CountUsage(life)
		},
		Hold: func(t *testing.T, s sessions.Store) (waiting func() int, release func()) {
			t.Helper()
			return s.(*memory.Store).Hold()
		},
	}.Run(t)
}

// open makes a store and closes it when the test ends.
func open(t *testing.T, cfg memory.Config) sessions.Store {
	t.Helper()
	s := memory.New(cfg)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}
