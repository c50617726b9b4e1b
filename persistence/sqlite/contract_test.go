package sqlite_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/persistence/sqlite"
	"agenthost/persistence/storetest"
	"agenthost/sessions"
)

// open opens the store at path and closes it when the test ends.
func open(t testing.TB, path string, cfg sqlite.Config) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// eachWay runs a test for each way to keep frames.
func eachWay(t *testing.T, run func(t *testing.T, frames string)) {
	t.Helper()
	for _, frames := range []string{sqlite.FramesRecord, sqlite.FramesFile} {
		t.Run(frames, func(t *testing.T) { run(t, frames) })
	}
}

func TestContract(t *testing.T) {
	eachWay(t, func(t *testing.T, frames string) {
		t.Helper()
		contract(sqlite.Config{Durability: sqlite.DurabilityProcess, Frames: frames}).Run(t)
	})
}

// contract makes stores for the contract suite.
func contract(cfg sqlite.Config) storetest.Factory {
	var paths sync.Map // *sqlite.Store to its path
	at := func(t *testing.T, path string, cfg sqlite.Config) sessions.Store {
		t.Helper()
		s := open(t, path, cfg)
		paths.Store(s, path)
		return s
	}
	pathOf := func(s sessions.Store) string {
		path, _ := paths.Load(s)
		return path.(string)
	}
	// Characters that mean something in a URL are letters in a path.
	fresh := func(t *testing.T) string {
		t.Helper()
		return filepath.Join(t.TempDir(), "agent host #1?%20.db")
	}
	f := storetest.Factory{
		Open: func(t *testing.T) sessions.Store {
			t.Helper()
			return at(t, fresh(t), cfg)
		},
		Reopen: func(t *testing.T, s sessions.Store) sessions.Store {
			t.Helper()
			require.NoError(t, s.Close())
			return at(t, pathOf(s), cfg)
		},
		Keeping: func(t *testing.T, frames int64) sessions.Store {
			t.Helper()
			cfg := cfg
			cfg.FramesPerSession = frames
			return at(t, fresh(t), cfg)
		},
		Rows: func(t *testing.T, s sessions.Store) map[string][]string {
			t.Helper()
			rows, err := s.(*sqlite.Store).Rows(t.Context())
			require.NoError(t, err)
			return rows
		},
		Holds: func(t *testing.T, s sessions.Store, text string) bool {
			t.Helper()
			return holds(t, pathOf(s), text)
		},
		// A store keeps frames in one way or the other.
		Unused: []string{"frame_runs"},
		InsertUsage: func(t *testing.T, s sessions.Store, life sessions.Incarnation) {
			t.Helper()
			_, err := s.(*sqlite.Store).Exec(t.Context(), `INSERT INTO usage
                (sid, day, model, input_tokens, output_tokens, cached_tokens, calls) VALUES (?, 1, 'of an embedder', 1, 2, 3, 4)`, life)
			require.NoError(t, err)
		},
		CountUsage: func(t *testing.T, s sessions.Store, life sessions.Incarnation) (count int) {
			t.Helper()
			rows, err := s.(*sqlite.Store).Rows(t.Context())
			require.NoError(t, err)
			for _, row := range rows["usage"] {
				if strings.HasPrefix(row, fmt.Sprintf("sid=%d;", life)) {
					count++
				}
			}
			return count
		},
		StripLocation: func(t *testing.T, s sessions.Store, parent sessions.Incarnation, child sessions.SessionID) {
			t.Helper()
			require.NoError(t, s.(*sqlite.Store).StripLocation(parent, child))
		},
		Hold: func(t *testing.T, s sessions.Store) (waiting func() int, release func()) {
			t.Helper()
			store := s.(*sqlite.Store)
			stop := store.Hold()
			t.Cleanup(stop.Go)
			stop.Reached()
			return store.Waiting, stop.Go
		},
		Damage: func(t *testing.T, s sessions.Store, life sessions.Incarnation) {
			t.Helper()
			require.NoError(t, s.(*sqlite.Store).Damage(t.Context(), life))
		},
	}
	if cfg.Frames == sqlite.FramesFile {
		f.Unused = []string{"activity_frames"}
		f.Files = func(t *testing.T, s sessions.Store) []string {
			t.Helper()
			return filesIn(t, pathOf(s)+".frames")
		}
	}
	return f
}

// holds reports whether a text is in the files of a store. The search is a child's
// work: this process must not open them a second time.
func holds(t *testing.T, path, text string) bool {
	t.Helper()
	out, err := exec.Command("grep", "-rlaF", "-e", text, "--", filepath.Dir(path)).CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return false // no hit
	}
	require.NoError(t, err, "%s", out)
	return true
}

// filesIn returns the paths of all files in a folder, and of the folders in it.
func filesIn(t *testing.T, folder string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if path != folder {
			paths = append(paths, path)
		}
		return err
	})
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return paths
}
