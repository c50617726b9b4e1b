package tests

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/client"
	"agenthost/host/server"
	"agenthost/oracle/scripted"
	"agenthost/persistence/sqlite"
	"agenthost/sessions"
	"agenthost/tools"
)

// childEnv, when set, makes the test binary a host on the store it names: a
// process that a test can kill without a word.
const childEnv = "AGENTHOST_TEST_CHILD"

// What a child says on its standard output, a line each.
const (
	saysListening = "listening "
	saysToolBegan = "tool began"
	saysHookBegan = "hook began"
)

const (
	hangPath   = "/test/hang"   // never ends and must not be run twice
	repeatPath = "/test/repeat" // hangs on its first run in a store, and may be run twice
	killPath   = "/test/kill"   // kills the host at every run, once it may, and may be run twice
)

// runChild serves a host until the process is killed.
func runChild(file string, out io.Writer) error {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, file, sqlite.Config{})
	if err != nil {
		return err
	}
	tree := &tools.Tree{}
	err = errors.Join(
		tree.Mount(hangPath, tools.MustFunc("Hangs.", hang(out))),
		tree.Mount(killPath, tools.MustFunc("Kills.", killSelf(mayKill(file)), tools.Repeatable())),
		tree.Mount(repeatPath, tools.MustFunc("Hangs once.", hangOnce(out, file+".ran"), tools.Repeatable())))
	if err != nil {
		return err
	}
	h, err := host.New(store, map[string]host.Profile{sessions.DefaultProfile: {
		Oracle: scripted.Strict(scripted.Play(childScript)), Tools: []string{"/test"},
	}}, host.Config{Tools: tree, OnDeleted: writeDown(out, file)})
	if err != nil {
		return err
	}
	if err := h.Start(ctx); err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, saysListening+"http://"+listener.Addr().String())
	return server.New(server.For(h), server.Config{}).Serve(ctx, listener)
}

var childScript = scripted.Script{Rules: []scripted.Rule{
	{When: "hang", Steps: []scripted.Step{{Text: "let me see", Calls: []scripted.Call{{Path: hangPath}}}, {Text: "done"}}},
	{When: "kill", Steps: []scripted.Step{{Calls: []scripted.Call{{Path: killPath}}}, {Text: "done"}}},
	{When: "repeat", Steps: []scripted.Step{{Calls: []scripted.Call{{Path: repeatPath}}}, {Text: "done"}}},
	{Steps: []scripted.Step{{Text: "fine", Repeat: true}}},
}}

type toolFunc = func(context.Context, tools.Call, struct{}) (string, error)

func hang(out io.Writer) toolFunc {
	return func(ctx context.Context, _ tools.Call, _ struct{}) (string, error) {
		fmt.Fprintln(out, saysToolBegan)
		<-ctx.Done()
		return "", ctx.Err()
	}
}

// hangOnce hangs unless marker is there, which it makes.
func hangOnce(out io.Writer, marker string) toolFunc {
	return func(ctx context.Context, call tools.Call, args struct{}) (string, error) {
		if _, err := os.Stat(marker); err == nil {
			return "ran again", nil
		}
		if err := os.WriteFile(marker, nil, 0o600); err != nil {
			return "", err
		}
		return hang(out)(ctx, call, args)
	}
}

// mayKill is the file that allows the killing tool to kill.
func mayKill(file string) string { return file + ".kill" }

// killSelf ends the process as kill -9 does, once a file is there.
func killSelf(allowed string) toolFunc {
	return func(ctx context.Context, _ tools.Call, _ struct{}) (string, error) {
		for {
			if _, err := os.Stat(allowed); err == nil {
				break
			}
			select {
			case <-time.After(eventTick):
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return "", err
		}
		if err := self.Kill(); err != nil {
			return "", err
		}
		<-ctx.Done()
		return "", ctx.Err()
	}
}

// deaf is the file that keeps the hook of a child from coming to its end, heard
// the one in which it writes down what it hears.
func deaf(file string) string  { return file + ".deaf" }
func heard(file string) string { return file + ".heard" }

// writeDown is a hook that writes a line for each deleted session.
func writeDown(out io.Writer, file string) host.OnDeleted {
	return func(ctx context.Context, gone []sessions.DeletedSession) error {
		fmt.Fprintln(out, saysHookBegan)
		if _, err := os.Stat(deaf(file)); err == nil {
			<-ctx.Done()
			return ctx.Err()
		}
		list, err := os.OpenFile(heard(file), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		for _, s := range gone {
			_, failed := fmt.Fprintln(list, s.ID)
			err = errors.Join(err, failed)
		}
		return errors.Join(err, list.Close())
	}
}

// child is a host in a process of its own.
type child struct {
	t      *testing.T
	run    *exec.Cmd
	lines  *bufio.Reader
	client *client.Client
}

// startChild starts a host on the store in file.
func startChild(t *testing.T, file string) *child {
	t.Helper()
	return start(t, childCommand(t, file), func(c *child) string { return c.await(saysListening) })
}

// start runs a host whose address is found by address in what it says.
func start(t *testing.T, run *exec.Cmd, address func(*child) string) *child {
	t.Helper()
	c := &child{t: t, run: run}
	out, err := c.run.StdoutPipe()
	require.NoError(t, err)
	c.lines = bufio.NewReader(out)
	require.NoError(t, c.run.Start())
	t.Cleanup(c.kill)
	c.client, err = client.Dial(t.Context(), address(c), client.Config{})
	require.NoError(t, err)
	t.Cleanup(c.client.Close)
	return c
}

// childCommand is the test binary as a host on the store in file.
func childCommand(t *testing.T, file string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), self)
	command.Env = append(os.Environ(), childEnv+"="+file)
	command.Stderr = os.Stderr
	return command
}

// await reads up to a line that begins with says and returns its rest.
func (c *child) await(says string) string {
	c.t.Helper()
	for {
		line, err := c.lines.ReadString('\n')
		require.NoError(c.t, err, "the child ended before it said %q", says)
		if rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), says); ok {
			return rest
		}
	}
}

// kill ends the process as a power cut would, as far as a process can tell. It
// may be called again.
func (c *child) kill() {
	_ = c.run.Process.Kill() // one that has ended is what is wanted
	_ = c.run.Wait()         // says only that it was killed
}
