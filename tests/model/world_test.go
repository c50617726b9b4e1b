package model

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

// setting is what a history's hosts have in common.
type setting struct {
	frames string        // where frames are kept
	idle   time.Duration // after which an agent leaves
}

// world is the host under test: the one that runs now, on the file it has now.
type world struct {
	t       rapid.TB
	setting setting
	folder  string
	files   int // how many the history has had
	host    *host.Host
	player  *player
	clock   atomic.Int64 // in milliseconds
}

// clockStart is where each history's clock begins.
var clockStart = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC).UnixMilli()

// newWorld starts a host. end must be called.
func newWorld(t rapid.TB, s setting) *world {
	t.Helper()
	folder, err := os.MkdirTemp(workshop, "")
	require.NoError(t, err)
	w := &world{t: t, setting: s, folder: folder, player: newPlayer()}
	w.clock.Store(clockStart)
	empty, err := os.ReadFile(template)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(w.file(), empty, 0o600))
	w.start()
	return w
}

// file is the store's path. A crash leaves the old one behind.
func (w *world) file() string { return filepath.Join(w.folder, strconv.Itoa(w.files)+".db") }

func (w *world) start() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	store, err := sqlite.Open(ctx, w.file(), sqlite.Config{
		Durability: sqlite.DurabilityProcess, Frames: w.setting.frames, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(w.t, err)
	profile := host.Profile{
		Oracle: w.player, Tools: []string{"/test"}, MaxIterations: maxIterations,
		PromptTimeout: 1000 * time.Hour, ToolTimeout: 1000 * time.Hour, // the clock is set, and gates stay closed
	}
	w.host, err = host.New(store, map[string]host.Profile{sessions.DefaultProfile: profile}, host.Config{
		Limits: sessions.Limits{QueuedPrompts: queueLimit},
		Tools:  w.player.tree(w.t), IdleTTL: w.setting.idle, StopGrace: time.Millisecond,
		Now: func() time.Time { return time.UnixMilli(w.clock.Load()) },
	})
	require.NoError(w.t, err)
	require.NoError(w.t, w.host.Start(ctx))
}

// end stops the host and removes what the history has left.
func (w *world) end() {
	w.host.Stop()
	require.NoError(w.t, os.RemoveAll(w.folder))
}

// restart stops the host and starts another.
func (w *world) restart() {
	w.t.Helper()
	w.host.Stop()
	w.start()
}

// crash takes a copy of the files as a kill would leave them, and goes on with
// a host on the copy.
func (w *world) crash() {
	w.t.Helper()
	from := w.file()
	w.files++
	copyFiles(w.t, from, w.file())
	w.host.Stop() // what it still does is not in the copy
	w.start()
}

// snapshot copies the database, its log, and the files of frames, again until
// the database itself was not written meanwhile. It is done by another process:
// closing the file in this one would drop SQLite's locks on it.
const snapshot = `set -e
while :; do
  cp "$1" "$2"
  cp "$1-wal" "$2-wal" 2>/dev/null || rm -f "$2-wal"
  if cmp -s "$1" "$2"; then break; fi
done
rm -rf "$2.frames"
if [ -d "$1.frames" ]; then cp -r "$1.frames" "$2.frames"; fi`

func copyFiles(t rapid.TB, from, to string) {
	t.Helper()
	out, err := exec.Command("sh", "-c", snapshot, "sh", from, to).CombinedOutput()
	require.NoError(t, err, string(out))
}

// digest sums up the bytes of the store's files.
func (w *world) digest() string {
	w.t.Helper()
	out, err := exec.Command("sh", "-c", `find "$1" -type f ! -name '*-shm' ! -name '*.lock' -exec cksum {} + | sort`, "sh", w.folder).CombinedOutput()
	require.NoError(w.t, err, string(out))
	return string(out)
}

// within is the context of one call.
func within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}

// ask makes one call of the host.
func ask[Args, Result any](w *world, call func(*host.Access, context.Context, Args) (Result, error), args Args) (Result, sessions.Code) {
	w.t.Helper()
	ctx, cancel := within()
	defer cancel()
	result, err := call(w.host.Access, ctx, args)
	if ctx.Err() != nil {
		stacks := make([]byte, 1<<20)
		require.Fail(w.t, "the host does not answer", "%s", stacks[:runtime.Stack(stacks, true)])
	}
	return result, sessions.CodeOf(err)
}

// prompt is Access.Prompt for a caller that wants no frames.
func prompt(a *host.Access, ctx context.Context, args *api.PromptArgs) (*api.PromptResult, error) { //nolint:revive // a method expression's order
	return a.Prompt(ctx, args, nil)
}

// retry is Access.Retry for a caller that wants no frames.
func retry(a *host.Access, ctx context.Context, args *api.RetryArgs) (*api.PromptResult, error) { //nolint:revive // a method expression's order
	return a.Retry(ctx, args, nil)
}

// wire is an address as the host takes it.
func (a address) wire() api.Address {
	return api.Address{SessionID: sessions.SessionID(a.id), TargetKey: a.key}
}

// setClock sets the clock.
func (w *world) setClock(now int64) { w.clock.Store(now) }
