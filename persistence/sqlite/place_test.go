package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

func TestFilesMovedAwayUnderTheStore(t *testing.T) {
	for name, suffix := range map[string]string{"the database": "", "the journal": "-wal"} {
		for _, replaced := range []bool{false, true} {
			t.Run(map[bool]string{false: name + " is removed", true: name + " is replaced"}[replaced], func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "a.db")
				s := open(t, path, sqlite.Config{})
				require.NoError(t, accepting(t, s, "before")())
				moved := path + suffix
				require.NoError(t, os.Rename(moved, path+".away"))
				if replaced {
					require.NoError(t, os.WriteFile(moved, []byte("something else"), 0o600))
				}

				_, err := s.AcceptTurn(t.Context(), prompt("meanwhile", "meanwhile"))
				require.Equal(t, sessions.CodeStoreUnavailable, sessions.CodeOf(err), "%v", err)
				require.Contains(t, sessions.AsError(err).Message, "replaced or removed")
				require.Equal(t, sessions.CodeStoreUnavailable, sessions.CodeOf(s.CheckWritable(t.Context())))
				_, err = s.Session(t.Context(), sessions.LocalOwner, prompt("before", "before").At)
				require.Equal(t, sessions.CodeStoreUnavailable, sessions.CodeOf(err))
				_, err = s.ClearOwner(t.Context(), sessions.ClearOwner{Owner: sessions.LocalOwner}, nil)
				require.Equal(t, sessions.CodeStoreUnavailable, sessions.CodeOf(err))

				require.NoError(t, os.Rename(path+".away", moved))
				require.NoError(t, accepting(t, s, "after")())
				require.NoError(t, s.Close())
				again := open(t, path, sqlite.Config{})
				busy, err := again.BusyTurns(t.Context())
				require.NoError(t, err)
				require.Len(t, busy, 2, "what was refused is not there, what was acknowledged is")
			})
		}
	}
}

// A file that was put in the place of the store's is left as it is.
func TestAReplacementIsNotTouched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := open(t, path, sqlite.Config{})
	require.NoError(t, accepting(t, s, "before")())
	for _, suffix := range []string{"", "-wal"} {
		require.NoError(t, os.Rename(path+suffix, path+suffix+".away"))
		require.NoError(t, os.WriteFile(path+suffix, []byte("a backup"), 0o600))
	}
	require.Error(t, accepting(t, s, "meanwhile")())
	require.NoError(t, s.Close())
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(path + suffix)
		require.NoError(t, err)
		require.Equal(t, "a backup", string(content))
	}
}
