package crash

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host/hosttest"
)

// patience is how long anything here waits before the test fails.
const patience = 60 * time.Second

// program builds the command, once.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(workshop, "agenthost")
	out, err := exec.Command("go", "build", "-o", path, "agenthost/cmd/agenthost").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("the command does not build: %w\n%s", err, out)
	}
	return path, nil
})

// process is a process that serves.
type process struct {
	url    string // "" if it ended before it said where it listens
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // how it exited; read after exited
	output *hosttest.Log
}

var listensOn = regexp.MustCompile(`listens on (http://\S+)`)

// launch starts cmd and returns once it says where it listens, or has ended.
func launch(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, exited: make(chan struct{}), output: &hosttest.Log{}}
	cmd.Stderr = p.output
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	listens := make(chan string, 1)
	go func() {
		defer close(p.exited)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			fmt.Fprintln(p.output, lines.Text())
			if m := listensOn.FindStringSubmatch(lines.Text()); m != nil {
				listens <- m[1]
			}
		}
		p.err = cmd.Wait()
	}()
	select {
	case p.url = <-listens:
	case <-p.exited:
	case <-time.After(patience):
		p.kill()
		return nil, fmt.Errorf("the process does not say where it listens: %s", p.output)
	}
	return p, nil
}

// started is launch for a process that is to serve; it ends with the test.
func started(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p, err := launch(cmd)
	require.NoError(t, err)
	t.Cleanup(p.kill)
	if p.url == "" {
		require.Fail(t, "the process does not serve", "%v\n%s", p.err, p.output)
	}
	return p
}

// serve starts the command as a host.
func serve(t *testing.T, folder string, args ...string) *process {
	t.Helper()
	return started(t, serveCommand(t, folder, args...))
}

func serveCommand(t *testing.T, folder string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := program()
	require.NoError(t, err)
	cmd := exec.Command(path, append([]string{"serve"}, args...)...)
	cmd.Dir = folder
	return cmd
}

// kill ends the process without a word, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL) // it may be gone already
	<-p.exited
}

// stop ends the process as a user would, and requires that it ends well.
func (p *process) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	p.await(t)
	require.NoError(t, p.err, "%s", p.output)
}

// await waits until the process has ended by itself.
func (p *process) await(t *testing.T) {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience):
		require.Fail(t, "the process does not end", "%s", p.output)
	}
}

// freeAddress returns an address that was free a moment ago, for hosts that
// are found at the same place after a restart.
func freeAddress(t *testing.T) string {
	t.Helper()
	l := listener(t)
	defer l.Close()
	return l.Addr().String()
}

// waiting returns a context that lasts as long as a test may wait.
func waiting(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// exists reports whether there is a file.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
