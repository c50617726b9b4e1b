package crash

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var (
	rounds   = flag.Int("rounds", 3, "how often the campaign kills a host with frames in the database, and one with frames in files")
	removals = flag.Int("removals", 2, "how often the campaigns of deletes and of clears kill a host, for each way to keep frames")
	clients  = flag.Int("clients", 32, "how many clients the campaign has")
	seed     = flag.Uint64("seed", 0, "what the campaign's schedule derives from; 0 takes a new one")
)

// workshop is a folder that lasts as long as the test program.
var workshop string

// TestMain is also the main of the processes that the tests start: a role in
// the environment says which of them this is.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := play(role); err != nil {
			fmt.Fprintln(os.Stderr, "crash: as "+role+":", err)
			panic(err)
		}
		return
	}
	var err error
	if workshop, err = os.MkdirTemp("", "crash"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(workshop)
	if err := os.Chmod(workshop, 0o755); err != nil { // for processes of other users
		panic(err)
	}
	m.Run()
}

// notRun skips a test that this machine does not allow, in words that a search
// of the log finds.
func notRun(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Skip("not run: " + fmt.Sprintf(format, args...))
}

// within returns a path below a test's folder.
func within(folder string, names ...string) string {
	return filepath.Join(folder, strings.Join(names, ""))
}
