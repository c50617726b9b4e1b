package crash

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/persistence/sqlite"
)

// traceCalls are the system calls that write to a file or sync it.
const traceCalls = "trace=write,pwrite64,writev,pwritev,fsync,fdatasync,sync_file_range"

// canTrace says why system calls cannot be traced here, nil if they can.
func canTrace() error {
	return exec.Command("strace", "-f", "-o", os.DevNull, "-e", traceCalls, "true").Run()
}

// interval is what happened to the journal between two acknowledgements.
type interval struct {
	writes   int
	syncs    int
	unsynced bool // the last thing that happened to the journal was a write
}

var (
	journalCall = regexp.MustCompile(`\b(write|pwrite64|writev|pwritev|fsync|fdatasync|sync_file_range)\(\d+<[^>]*a\.db-wal>`)
	stdoutCall  = regexp.MustCompile(`\bwrite\(1<[^>]*>, "` + acknowledged)
)

// intervals traces a store that acknowledges writes, and returns what happened
// before each acknowledgement.
func intervals(t *testing.T, durability, frames string) []interval {
	t.Helper()
	folder := t.TempDir()
	child := inRole(t, roleWriter, fileVariable+"="+within(folder, "a.db"), durabilityVariable+"="+durability, framesVariable+"="+frames)
	cmd := exec.Command("strace", "-f", "-y", "-s", "64", "-o", within(folder, "trace"), "-e", traceCalls, child.Path)
	cmd.Env = child.Env
	said, err := cmd.Output()
	require.NoError(t, err, "%s", said)
	require.Equal(t, 2*writes, strings.Count(string(said), acknowledged))

	trace, err := os.Open(within(folder, "trace"))
	require.NoError(t, err)
	defer trace.Close()
	var all []interval
	var now interval
	// A call that other threads interrupt has two lines; the first one names the
	// file. Only one goroutine writes, and it waits for a sync before it goes on.
	for lines := bufio.NewScanner(trace); lines.Scan(); {
		line := lines.Text()
		if stdoutCall.MatchString(line) {
			all, now = append(all, now), interval{}
			continue
		}
		m := journalCall.FindStringSubmatch(line)
		switch {
		case m == nil:
		case strings.Contains(m[1], "write"):
			now.writes++
			now.unsynced = true
		case m[1] == "fsync" || m[1] == "fdatasync":
			now.syncs++
			now.unsynced = false
		}
	}
	require.Len(t, all, 2*writes, "every acknowledgement is in the trace")
	return all
}

// With the default durability, what was written is on the disk before its
// acknowledgement is given.
func TestEachAcknowledgementComesAfterASync(t *testing.T) {
	if err := canTrace(); err != nil {
		notRun(t, "system calls cannot be traced here: %v", err)
	}
	for _, frames := range []string{sqlite.FramesRecord, sqlite.FramesFile} {
		t.Run(frames, func(t *testing.T) {
			for n, happened := range intervals(t, sqlite.DurabilityPower, frames) {
				require.Positive(t, happened.writes, "acknowledgement %d has its write", n)
				require.Positive(t, happened.syncs, "acknowledgement %d has its sync", n)
				require.False(t, happened.unsynced, "nothing is written between the sync and acknowledgement %d", n)
			}
		})
	}
}

// The other durability gives that up, which also shows that the trace can tell.
func TestAcknowledgementsOfTheProcessDurabilityDoNotWaitForASync(t *testing.T) {
	if err := canTrace(); err != nil {
		notRun(t, "system calls cannot be traced here: %v", err)
	}
	for n, happened := range intervals(t, sqlite.DurabilityProcess, sqlite.FramesRecord) {
		require.Positive(t, happened.writes, "acknowledgement %d has its write", n)
		if n > 0 { // the first one follows the file's making
			require.Zero(t, happened.syncs, "acknowledgement %d", n)
		}
	}
}
