package agentsv1

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"
)

// daemon is the real command, on files of its own, at an address that it keeps.
type daemon struct {
	t       *testing.T
	program string
	folder  string // of the configuration
	data    string // of the database
	address string

	command *exec.Cmd
	exited  chan struct{}
	errors  *bytes.Buffer // what it says on stderr; read after exited
}

// newDaemon builds the command and gives it a script. It does not run yet.
func newDaemon(t *testing.T, script, data string) *daemon {
	t.Helper()
	d := &daemon{t: t, folder: t.TempDir(), data: data, address: free(t)}
	d.program = filepath.Join(d.folder, "agenthost")
	build := exec.Command("go", "build", "-o", d.program, "./cmd/agenthost")
	build.Dir = filepath.Join("..", "..")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, os.WriteFile(filepath.Join(d.folder, "script.yaml"), []byte(script), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(d.folder, "agenthost.yaml"), []byte("oracles:\n  play: {provider: scripted, file: script.yaml}\n"+
		"profiles:\n  default: {oracle: play}\nlisten: "+d.address+"\n"), 0o600))
	t.Cleanup(func() {
		if d.command != nil {
			d.kill()
		}
	})
	return d
}

// free returns an address that was free a moment ago.
func free(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func (d *daemon) arguments(args ...string) []string {
	return append(args, "--config", "agenthost.yaml", "--db", filepath.Join(d.data, "a.db"))
}

// run runs the command to its end on the files of a daemon that does not run, and
// returns its output.
func (d *daemon) run(args ...string) (string, error) {
	command := exec.Command(d.program, d.arguments(args...)...)
	command.Dir = d.folder
	var failed bytes.Buffer
	command.Stderr = &failed
	out, err := command.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, failed.String())
	}
	return strings.TrimSpace(string(out)), err
}

// key makes a key for an owner.
func (d *daemon) key(owner string) string {
	d.t.Helper()
	secret, err := d.run("keys", "create", "--owner", owner)
	require.NoError(d.t, err)
	require.NotEmpty(d.t, secret)
	return secret
}

var listens = regexp.MustCompile(`listens on http://\S+`)

// start starts the command, and waits until it listens.
func (d *daemon) start() {
	d.t.Helper()
	d.command = exec.Command(d.program, d.arguments("serve")...)
	d.command.Dir = d.folder
	d.errors = &bytes.Buffer{}
	d.command.Stderr = d.errors
	out, err := d.command.StdoutPipe()
	require.NoError(d.t, err)
	require.NoError(d.t, d.command.Start())
	d.exited = make(chan struct{})
	ready := make(chan struct{})
	go func() {
		defer close(d.exited)
		said := sync.OnceFunc(func() { close(ready) })
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if listens.MatchString(lines.Text()) {
				said()
			}
		}
		_ = d.command.Wait() // how it ends is what the tests are about
	}()
	select {
	case <-ready:
	case <-d.exited:
		require.Fail(d.t, "the command does not serve", "%s", d.errors)
	case <-time.After(patience):
		d.kill()
		require.Fail(d.t, "the command does not say where it listens", "%s", d.errors)
	}
}

// kill ends the command without a word.
func (d *daemon) kill() { d.end(syscall.SIGKILL) }

// stop ends it as a user would.
func (d *daemon) stop() { d.end(syscall.SIGTERM) }

func (d *daemon) end(signal syscall.Signal) {
	d.t.Helper()
	_ = d.command.Process.Signal(signal) // it may be gone already
	select {
	case <-d.exited:
	case <-time.After(patience):
		_ = d.command.Process.Kill()
		<-d.exited
		d.t.Errorf("the command does not end: %s", d.errors)
	}
	if signal == syscall.SIGTERM && d.command.ProcessState.ExitCode() != 0 {
		d.t.Errorf("the command ended with %s: %s", d.command.ProcessState, d.errors)
	}
	if said := d.errors.String(); strings.Contains(said, "panic") || strings.Contains(said, "DATA RACE") {
		d.t.Errorf("the command says %s", said)
	}
}

// client returns the SDK with a key.
func (d *daemon) client(key string, options ...option.RequestOption) openai.Client {
	return openai.NewClient(append([]option.RequestOption{option.WithBaseURL("http://" + d.address + "/v1"), option.WithAPIKey(key)}, options...)...)
}

// files is how many files the command has open.
func (d *daemon) files() int {
	d.t.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.command.Process.Pid))
	require.NoError(d.t, err)
	return len(open)
}

var peak = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// memory is the most bytes that the command has had.
func (d *daemon) memory() int {
	d.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.command.Process.Pid))
	require.NoError(d.t, err)
	kilobytes, err := strconv.Atoi(string(peak.FindSubmatch(status)[1]))
	require.NoError(d.t, err)
	return kilobytes << 10
}
