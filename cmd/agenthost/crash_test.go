package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// program is the command as a process, run in a folder of its own.
type program struct {
	t      *testing.T
	path   string
	folder string
	listen string
}

func newProgram(t *testing.T) *program {
	t.Helper()
	path, err := exec.LookPath("agenthost") // where TestMain has put it
	require.NoError(t, err)
	return &program{t: t, path: path, folder: t.TempDir(), listen: freeAddress(t)}
}

func (p *program) command(args ...string) *exec.Cmd {
	command := exec.Command(p.path, args...)
	command.Dir = p.folder
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.folder, "AGENTHOST_LISTEN=" + p.listen, raceOptions}
	return command
}

// serve starts a host and returns it with the line it says to try.
func (p *program) serve() (host *exec.Cmd, try string) {
	p.t.Helper()
	host = p.command("serve")
	out, err := host.StdoutPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, host.Start())
	p.t.Cleanup(func() {
		_ = host.Process.Kill() // it may have ended, as tests make it do
		_ = host.Wait()
	})
	lines := bufio.NewReader(out)
	for try == "" {
		line, err := lines.ReadString('\n')
		require.NoError(p.t, err, "the host ended before it said what to try")
		if m := regexp.MustCompile(`^ +try +(.*)\n$`).FindStringSubmatch(line); m != nil {
			try = m[1]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // ends with the host
	return host, try
}

// run runs a command to its end and returns what it printed.
func (p *program) run(args ...string) (stdout, stderr string) {
	p.t.Helper()
	command := p.command(args...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	require.NoError(p.t, command.Run(), "%s", &errs)
	return out.String(), errs.String()
}

func TestAConversationGoesOnAfterAKill(t *testing.T) {
	p := newProgram(t)
	host, _ := p.serve()
	p.run("prompt", "--target", "demo", "my name is Ada")
	before, _ := p.run("sessions", "messages", "--target", "demo", "--json")
	require.NoError(t, host.Process.Kill())
	require.Error(t, host.Wait())

	p.serve()
	after, warning := p.run("sessions", "messages", "--target", "demo", "--json")
	require.Equal(t, before, after)
	require.Empty(t, warning)
	answer, _ := p.run("prompt", "--target", "demo", "What did I say first?")
	require.Equal(t, "You said: my name is Ada\n", answer)
}

func TestTheLineToTryWorksWhenPasted(t *testing.T) {
	p := newProgram(t)
	_, try := p.serve()
	shell := exec.Command("sh", "-c", try)
	shell.Dir, shell.Env = p.folder, p.command().Env
	out, err := shell.CombinedOutput()
	require.NoError(t, err, "%s: %s", try, out)
	require.Contains(t, string(out), "→ /builtin/time {}")
	require.Contains(t, string(out), "/builtin/time answered \"20")
}

func TestASecondSignalEndsTheHostAtOnce(t *testing.T) {
	p := newProgram(t)
	script := "steps:\n  - {text: Well, hang: true, repeat: true}\n"
	require.NoError(t, os.WriteFile(filepath.Join(p.folder, "script.yaml"), []byte(script), 0o600))
	settings := "stopGrace: 10m\noracles: {play: {provider: scripted, file: script.yaml}}\n"
	require.NoError(t, os.WriteFile(filepath.Join(p.folder, "agenthost.yaml"), []byte(settings), 0o600))
	host, _ := p.serve()
	prompt := p.command("prompt", "--target", "demo", "hello")
	out, err := prompt.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, prompt.Start())
	text := make([]byte, len("Well"))
	_, err = io.ReadFull(out, text)
	require.NoError(t, err)

	require.NoError(t, host.Process.Signal(os.Interrupt))
	require.NoError(t, await(func() bool {
		refused, err := p.command("prompt", "--target", "other", "--host", p.listen, "hi").CombinedOutput()
		return err != nil && !strings.Contains(string(refused), "AGENT_BUSY")
	}))
	require.NoError(t, host.Process.Signal(os.Interrupt))
	require.ErrorContains(t, host.Wait(), "interrupt")
	require.NoError(t, prompt.Process.Kill())
	require.Error(t, prompt.Wait())
}
