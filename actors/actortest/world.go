package actortest

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"agenthost/actors"
	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

// Owner is whose sessions a World speaks of.
const Owner = sessions.LocalOwner

// deadLetterInterval is at least as long as the actor library keeps a goroutine
// after a message to an actor that is gone.
const deadLetterInterval = time.Second

// Profiles are the profiles of a World by name.
type Profiles = map[string]actors.Profile

// Config is what a World may be told besides its profiles.
type Config struct {
	actors.Config
	// Path is the file of the store; default: a new one.
	Path string
	// Wrap, if not nil, stands between the System and the store.
	Wrap func(sessions.Store) sessions.Store
	// Grace is given to running turns when the test ends; default: none.
	Grace time.Duration
}

// World is a System over a store of its own.
type World struct {
	T      testing.TB
	System *actors.System
	Store  sessions.Store // as the System sees it
	Path   string

	file  *sqlite.Store
	grace time.Duration
}

// New starts a World that ends with the test: the tree is stopped, the store
// closed, and the test fails if a goroutine is left.
func New(t testing.TB, profiles Profiles, c Config) *World {
	t.Helper()
	before := goleak.IgnoreCurrent()
	w := Open(t, profiles, c)
	t.Cleanup(func() {
		w.Close()
		if leak := goleak.Find(before); leak != nil {
			t.Errorf("the tree has left goroutines: %v", leak)
		}
	})
	return w
}

// Open is New for tests that Close the World themselves, such as those that
// open its file a second time.
func Open(t testing.TB, profiles Profiles, c Config) *World {
	t.Helper()
	if c.Path == "" {
		c.Path = filepath.Join(t.TempDir(), "test.db")
	}
	file, err := sqlite.Open(t.Context(), c.Path, sqlite.Config{Durability: sqlite.DurabilityProcess})
	require.NoError(t, err)
	w := &World{T: t, Store: file, Path: c.Path, file: file, grace: c.Grace}
	if c.Wrap != nil {
		w.Store = c.Wrap(file)
	}
	if w.System, err = actors.New(w.Store, profiles, c.Config); err != nil {
		require.NoError(t, file.Close())
	}
	require.NoError(t, err)
	return w
}

// Close stops the tree and closes the store. A second call does nothing.
func (w *World) Close() {
	w.T.Helper()
	w.System.Stop(w.grace)
	require.NoError(w.T, w.file.Close())
}

// NewInBubble is New for a test in a bubble of testing/synctest, which finds
// goroutines that are left by itself. All parts of the World, the store too, live
// in the bubble's time.
func NewInBubble(t *testing.T, profiles Profiles, c Config) *World {
	t.Helper()
	t.Cleanup(func() { <-time.After(deadLetterInterval + 1) }) // registered first, so it comes last
	w := Open(t, profiles, c)
	t.Cleanup(w.Close)
	return w
}
