package mcp_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"agenthost/tools"
	"agenthost/tools/mcp"
	"agenthost/tools/mcp/mcptest"
)

// asServer is the variable by which this program is the server of its tests.
const asServer = "MCPTEST_SERVER"

// patience is how long a fact may take to come true on a slow machine.
const patience = 30 * time.Second

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		os.Exit(mcptest.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) //nolint:forbidigo // the main of a program
	}
	goleak.VerifyTestMain(m)
}

// program is the server of the tests as a program, mounted at /mcp/test.
func program(args ...string) mcp.Server {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return mcp.Server{
		Name: "test", Mount: "/mcp/test", Command: append([]string{self}, args...),
		Env: []string{asServer + "=1", "GORACE=atexit_sleep_ms=0"},
	}
}

// web is the server of the tests as a program that serves HTTP at one address.
type web struct {
	*testing.T
	mode    string
	address string
	process *exec.Cmd
}

func newWeb(t *testing.T, mode ...string) *web {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	w := &web{T: t, mode: append(mode, mcptest.HTTP)[0], address: listener.Addr().String()}
	w.up()
	t.Cleanup(w.kill)
	return w
}

// up starts the program and waits until it serves.
func (w *web) up() {
	self, err := os.Executable()
	require.NoError(w, err)
	w.process = exec.Command(self, w.mode, w.address)
	w.process.Env = append(os.Environ(), asServer+"=1")
	require.NoError(w, w.process.Start())
	require.Eventually(w, func() bool {
		conn, err := net.Dial("tcp", w.address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, patience, 5*time.Millisecond)
}

// kill ends the program with SIGKILL.
func (w *web) kill() {
	_ = w.process.Process.Kill()
	_ = w.process.Wait()
}

func (w *web) server() mcp.Server {
	return mcp.Server{Name: "test", Mount: "/mcp/test", URL: "http://" + w.address}
}

// both are the server of the tests as a process, and behind HTTP.
func both(t *testing.T) map[string]mcp.Server {
	t.Helper()
	return map[string]mcp.Server{"stdio": program(), "http": newWeb(t).server()}
}

// quick are settings that let tests see servers come back.
var quick = mcp.Config{FirstPause: 10 * time.Millisecond, OutageWait: patience}

// bench is servers under test, with the tree they mount in and what they log.
type bench struct {
	*testing.T
	tree    *tools.Tree
	servers *mcp.Servers
	log     *logged
}

// start runs servers for a test, and waits until they are there. They are stopped
// after the test, which then must have left no goroutine.
func start(t *testing.T, c mcp.Config, servers ...mcp.Server) *bench {
	t.Helper()
	before := goleak.IgnoreCurrent() // such as a server of the test's own
	b := &bench{T: t, tree: &tools.Tree{}, log: &logged{}}
	c.Logger = slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	b.servers, err = mcp.Start(b.tree, servers, c)
	require.NoError(t, err)
	t.Cleanup(func() {
		b.servers.Stop()
		goleak.VerifyNone(t, before)
	})
	b.servers.Settle(t.Context())
	return b
}

// call calls a tool by its path.
func (b *bench) call(ctx context.Context, path, args string) (string, error) {
	b.Helper()
	m, ok := b.tree.Lookup(path)
	require.True(b, ok, "nothing is mounted at %s", path)
	output, err := m.Tool.Invoke(ctx, tools.Call{Path: path, Args: json.RawMessage(args)})
	return string(output), err
}

// text calls a tool that gives a text.
func (b *bench) text(path, args string) string {
	b.Helper()
	output, err := b.call(b.Context(), path, args)
	require.NoError(b, err)
	var text string
	require.NoError(b, json.Unmarshal([]byte(output), &text))
	return text
}

// paths lists what is mounted.
func (b *bench) paths() []string {
	var paths []string
	for _, m := range b.tree.All() {
		paths = append(paths, m.Path)
	}
	return paths
}

// until waits until a fact holds.
func (b *bench) until(holds func() bool) {
	b.Helper()
	require.Eventually(b, holds, patience, 5*time.Millisecond)
}

// mounts waits until something is, or is not, mounted at path.
func (b *bench) mounts(path string, is bool) {
	b.Helper()
	b.until(func() bool { return slices.Contains(b.paths(), path) == is })
}

// exists waits for a file.
func (b *bench) exists(file string) {
	b.Helper()
	b.until(func() bool { _, err := os.Stat(file); return err == nil })
}

// argsOf makes arguments of a name and a value.
func argsOf(name, value string) string {
	args, err := json.Marshal(map[string]string{name: value})
	if err != nil {
		panic(err)
	}
	return string(args)
}

// logged keeps what is logged.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
