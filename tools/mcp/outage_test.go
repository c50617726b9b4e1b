package mcp_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
	"agenthost/tools/mcp"
	"agenthost/tools/mcp/mcptest"
)

func TestKillInMidCallFailsTheCallAndTheNextWorks(t *testing.T) {
	b := start(t, quick, program())
	file := filepath.Join(t.TempDir(), "call")
	pid := b.text("/mcp/test/pid", `{}`)
	ended := make(chan error, 1)
	go func() {
		_, err := b.call(t.Context(), "/mcp/test/wait", argsOf("file", file))
		ended <- err
	}()
	b.exists(file + ".began")
	kill(t, pid)
	err := sessions.AsError(<-ended)
	require.Equal(t, sessions.CodeToolInvokeFailed, err.Code)
	require.Equal(t, `The session with the MCP server "test" broke during the call, so nobody knows whether the tool ran.`, err.Message)
	require.NotEqual(t, pid, b.text("/mcp/test/pid", `{}`), "another process serves")
	require.Equal(t, "The tool echo.", description(b, "/mcp/test/echo"))
}

func TestOnlyRepeatableCallsAreMadeAgain(t *testing.T) {
	b := start(t, quick, program())
	again, once := filepath.Join(t.TempDir(), "again"), filepath.Join(t.TempDir(), "once")
	require.Equal(t, "alive", b.text("/mcp/test/retry/die", argsOf("file", again)))
	_, err := b.call(t.Context(), "/mcp/test/die", argsOf("file", once))
	require.Equal(t, sessions.CodeToolInvokeFailed, sessions.AsError(err).Code)
}

func TestOutageFailsCallsWithASentence(t *testing.T) {
	c := quick
	c.OutageWait = time.Millisecond
	c.FirstPause, c.LongestPause = time.Hour, time.Hour
	b := start(t, c, program())
	kill(t, b.text("/mcp/test/pid", `{}`))
	b.until(func() bool { return len(b.servers.Missing()) == 1 })
	require.Equal(t, []string{"test"}, b.servers.Missing())
	_, err := b.call(t.Context(), "/mcp/test/echo", `{}`)
	require.Equal(t, sessions.CodeToolInvokeFailed, sessions.AsError(err).Code)
	require.Contains(t, sessions.AsError(err).Message, `The MCP server "test" is not there now`)
}

func TestLostSessionIsMadeAgain(t *testing.T) {
	w := newWeb(t)
	b := start(t, quick, w.server())
	pid := b.text("/mcp/test/pid", `{}`)
	w.kill()
	w.up() // which knows nothing of the session
	require.NotEqual(t, pid, b.text("/mcp/test/pid", `{}`), "the call was never taken, so it is made again")
	b.text("/mcp/test/add", argsOf("text", "new"))
	b.mounts("/mcp/test/new", true) // lists are followed in the new session too
}

func TestServerBehindHTTPIsKilledInMidCall(t *testing.T) {
	w := newWeb(t)
	b := start(t, quick, w.server())
	file := filepath.Join(t.TempDir(), "call")
	ended := make(chan error, 1)
	go func() {
		_, err := b.call(t.Context(), "/mcp/test/wait", argsOf("file", file))
		ended <- err
	}()
	b.exists(file + ".began")
	w.kill()
	require.Equal(t, sessions.CodeToolInvokeFailed, sessions.AsError(<-ended).Code)
	w.up()
	require.Equal(t, "again", b.text("/mcp/test/echo", argsOf("text", "again")))
}

func TestServerThatComesLateIsMounted(t *testing.T) {
	w := newWeb(t)
	w.kill()
	b := start(t, quick, w.server())
	require.Empty(t, b.paths())
	require.Equal(t, []string{"test"}, b.servers.Missing())
	w.up()
	b.mounts("/mcp/test/echo", true)
}

func TestProgramThatDoesNotStartIsTriedAgain(t *testing.T) {
	link := filepath.Join(t.TempDir(), "program")
	server := program()
	self := server.Command[0]
	server.Command[0] = link
	b := start(t, quick, server)
	require.Empty(t, b.paths())
	require.Contains(t, b.log.String(), "it is tried again")
	require.NoError(t, os.Symlink(self, link))
	b.mounts("/mcp/test/echo", true)
}

func TestFailureOfAProgramIsExplained(t *testing.T) {
	b := start(t, quick, mcp.Server{Name: "test", Mount: "/mcp/test", Command: []string{"sh", "-c", "echo lost >&2; exit 7"}})
	require.Contains(t, b.log.String(), "its process failed: exit status 7")
	require.Contains(t, b.log.String(), "line=lost")
}

func TestServerWithoutToolsIsThere(t *testing.T) {
	b := start(t, quick, program(mcptest.Bare))
	require.Empty(t, b.servers.Missing())
	require.Empty(t, b.paths())
	require.NotContains(t, b.log.String(), "tried again")
}

func TestSilentServerHoldsUpNobody(t *testing.T) {
	c := quick
	c.StartTimeout = 50 * time.Millisecond
	b := start(t, c, program(mcptest.Silent))
	require.Contains(t, b.log.String(), "it gave no answer within 50ms")
	require.Empty(t, b.paths())
}

func TestServerThatAcceptsAndIsSilentHoldsUpNobody(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	c := quick
	c.StartTimeout = 50 * time.Millisecond
	b := start(t, c, mcp.Server{Name: "test", Mount: "/mcp/test", URL: "http://" + listener.Addr().String() + "/?key=hunter2"})
	require.Contains(t, b.log.String(), "it gave no answer within 50ms")
	require.NotContains(t, b.log.String(), "hunter2")
}

func TestWhatIsNoMessageIsLeftOut(t *testing.T) {
	b := start(t, quick, program(mcptest.Chatty))
	require.Equal(t, "hi", b.text("/mcp/test/echo", argsOf("text", "hi")))
	require.Contains(t, b.log.String(), "Welcome to a server that talks!")
	require.Contains(t, b.log.String(), "mcptest serves chatty", "what it prints to its standard error is logged")
}

func TestBrokenMessagesEndTheSession(t *testing.T) {
	c := quick
	c.StopGrace = 50 * time.Millisecond
	b := start(t, c, program(mcptest.Broken))
	require.Empty(t, b.paths())
	require.Contains(t, b.log.String(), "it is tried again")
}

func TestStopTakesTheWholeGroup(t *testing.T) {
	b := start(t, quick, program())
	pid, child := b.text("/mcp/test/pid", `{}`), b.text("/mcp/test/child", `{}`)
	require.True(t, lives(t, pid))
	require.True(t, lives(t, child))
	b.servers.Stop()
	require.False(t, lives(t, pid))
	b.until(func() bool { return !lives(t, child) })
}

func TestDeathOfTheProcessIsSeenThoughItsChildHoldsThePipes(t *testing.T) {
	b := start(t, quick, program())
	pid, child := b.text("/mcp/test/pid", `{}`), b.text("/mcp/test/child", `{}`)
	kill(t, pid)
	b.until(func() bool { return !lives(t, child) })
	require.NotEqual(t, pid, b.text("/mcp/test/pid", `{}`))
}

func TestStubbornProcessIsKilled(t *testing.T) {
	c := quick
	c.StopGrace = 50 * time.Millisecond
	b := start(t, c, program(mcptest.Stubborn))
	pid := b.text("/mcp/test/pid", `{}`)
	b.servers.Stop()
	require.False(t, lives(t, pid))
}

func TestStopEndsCalls(t *testing.T) {
	c := quick
	c.StopGrace = 50 * time.Millisecond
	for name, server := range both(t) {
		t.Run(name, func(t *testing.T) {
			b := start(t, c, server)
			file := filepath.Join(t.TempDir(), "call")
			ended := make(chan error, 1)
			go func() {
				_, err := b.call(context.Background(), "/mcp/test/wait", argsOf("file", file))
				ended <- err
			}()
			b.exists(file + ".began")
			b.servers.Stop()
			require.Error(t, <-ended)
			_, err := b.call(t.Context(), "/mcp/test/echo", `{}`)
			require.Error(t, err)
		})
	}
}

// kill ends a process with SIGKILL.
func kill(t *testing.T, pid string) {
	t.Helper()
	require.NoError(t, syscall.Kill(number(t, pid), syscall.SIGKILL))
}

// lives reports whether there is a process, other than one whose end nobody has
// taken note of.
func lives(t *testing.T, pid string) bool {
	t.Helper()
	if syscall.Kill(number(t, pid), 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err != nil || !zombie(string(stat))
}

func zombie(stat string) bool {
	for i := len(stat) - 1; i >= 0; i-- {
		if stat[i] == ')' { // the name before it may hold anything
			return len(stat) > i+2 && stat[i+2] == 'Z'
		}
	}
	return false
}

func number(t *testing.T, pid string) int {
	t.Helper()
	n, err := strconv.Atoi(pid)
	require.NoError(t, err)
	return n
}

func description(b *bench, path string) string {
	m, ok := b.tree.Lookup(path)
	require.True(b, ok)
	return m.Spec.Description
}
