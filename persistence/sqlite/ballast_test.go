package sqlite_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

func TestAStoreHasBallast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := open(t, path, sqlite.Config{})
	size := func() int64 {
		info, err := os.Stat(path + ".ballast")
		require.NoError(t, err)
		return info.Size()
	}
	first := size()
	pages, err := s.Pragma("wal_autocheckpoint")
	require.NoError(t, err)
	journal, err := strconv.Atoi(pages)
	require.NoError(t, err)
	require.Greater(t, first, int64(journal)*4096, "a whole journal must find room in the database")
	require.NoError(t, os.Remove(path+".ballast"))
	require.NoError(t, s.Sweep(t.Context(), 1))
	require.Equal(t, first, size(), "a sweep takes it in again")
	require.NoError(t, s.Close())
	open(t, path, sqlite.Config{})
	require.Equal(t, first, size())
}

// smallDisk mounts a file system of a size, or says that it cannot.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	folder := t.TempDir()
	out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "none", folder).CombinedOutput()
	if err != nil {
		t.Skipf("not run: no file system can be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		out, err := exec.Command("umount", folder).CombinedOutput()
		require.NoError(t, err, "%s", out)
	})
	return folder
}

// fill writes files into a folder until there is no room for a byte, and
// returns their paths.
func fill(t *testing.T, folder string) (files []string) {
	t.Helper()
	for size := 1 << 20; size > 0; size /= 2 {
		for {
			path := filepath.Join(folder, fmt.Sprintf("filler-%d", len(files)))
			files = append(files, path)
			if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
				break // a part of it may have found room
			}
		}
	}
	return files
}

func TestOnAFullDiskSessionsCanBeDeleted(t *testing.T) {
	folder := smallDisk(t, "16m")
	path := filepath.Join(folder, "a.db")
	s := open(t, path, sqlite.Config{})
	large := func(name string) sessions.AcceptTurn {
		c := prompt(name, name)
		c.Content = sessions.Text(strings.Repeat("x", 300<<10))
		return c
	}
	for n := range 4 {
		_, err := s.AcceptTurn(t.Context(), large(fmt.Sprint(n)))
		require.NoError(t, err)
	}
	fillers := fill(t, folder)
	refused := 0
	for n := range 40 { // what room the journal has left is used up
		_, err := s.AcceptTurn(t.Context(), large(fmt.Sprintf("more-%d", n)))
		if err != nil {
			require.Equal(t, sessions.CodeStoreUnavailable, sessions.CodeOf(err), "%v", err)
			require.Contains(t, sessions.AsError(err).Message, "full")
			refused++
		}
	}
	require.Positive(t, refused)

	for n := range 4 {
		receipt, err := s.DeleteSession(t.Context(), sessions.DeleteSession{Owner: sessions.LocalOwner, At: large(fmt.Sprint(n)).At, TombstoneMs: 1}, nil)
		require.NoError(t, err)
		require.NotNil(t, receipt)
		require.True(t, receipt.Complete)
	}
	_, err := os.Stat(path + ".ballast")
	require.ErrorIs(t, err, fs.ErrNotExist, "the ballast was thrown off")

	for _, filler := range fillers {
		_ = os.Remove(filler) // the last one of each size may not be there
	}
	_, err = s.AcceptTurn(t.Context(), large("after"))
	require.NoError(t, err)
	require.NoError(t, s.Sweep(t.Context(), 1))
	_, err = os.Stat(path + ".ballast")
	require.NoError(t, err)
}
