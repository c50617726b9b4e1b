package story

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/hosttest"
)

// settings are those of the host. The verbs stand for the base URLs of the two
// models and the program of the MCP server.
const settings = `
listen: 127.0.0.1:0
oracles:
  main: {provider: openai, model: m, baseURL: "%s"}
  other: {provider: anthropic, model: m, baseURL: "%s", apiKeyEnv: STORY_KEY}
profiles:
  default:
    oracle: main
    system: You tell stories.
    tools: [/mcp/files, /repl, /agents/scout]
    needsApproval: [/mcp/files/echo]
    clientTools: [{path: /client/pick, description: Lets the user pick one., schema: {type: object, properties: {from: {type: array}}}}]
  scout: {oracle: other, tools: [/builtin]}
mcp:
  files: {command: ["%s"], env: [` + serverEnv + `]}
`

// house is a folder with the command, its settings and its store.
type house struct {
	t      *testing.T
	folder string
}

func build(t *testing.T, mainURL, otherURL string) *house {
	t.Helper()
	h := &house{t, t.TempDir()}
	built, err := exec.CommandContext(t.Context(), "go", "build", "-o", h.folder, "agenthost/cmd/agenthost").CombinedOutput()
	require.NoError(t, err, "%s", built)
	self, err := os.Executable()
	require.NoError(t, err)
	text := fmt.Sprintf(settings, mainURL, otherURL, self)
	require.NoError(t, os.WriteFile(filepath.Join(h.folder, "agenthost.yaml"), []byte(text), 0o600))
	return h
}

// process is the command as a host.
type process struct {
	t   *testing.T
	run *exec.Cmd
	url string
}

var listensOn = regexp.MustCompile(`^agenthost .*(http://[0-9.:]+)`)

func (h *house) serve() *process {
	h.t.Helper()
	p := &process{t: h.t, run: exec.CommandContext(h.t.Context(), filepath.Join(h.folder, "agenthost"), "serve")}
	p.run.Dir, p.run.Stderr = h.folder, os.Stderr
	p.run.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.folder, serverEnv + "=1", "STORY_KEY=k"}
	out, err := p.run.StdoutPipe()
	require.NoError(h.t, err)
	require.NoError(h.t, p.run.Start())
	h.t.Cleanup(p.kill)
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		require.NoError(h.t, err, "the host ended before it said where it listens")
		if m := listensOn.FindStringSubmatch(line); m != nil {
			p.url = m[1]
			go func() { _, _ = io.Copy(io.Discard, lines) }() // ends with the host
			return p
		}
	}
}

// kill ends the host as nothing can prepare for. It may be called again.
func (p *process) kill() {
	_ = p.run.Process.Kill() // one that has ended is what is wanted
	_ = p.run.Wait()         // says only that it was killed
}

// socket is a new client of the host.
func (p *process) socket() *hosttest.Socket { return hosttest.DialSocket(p.t, p.url, nil) }

// stop ends the host as its user would.
func (p *process) stop() {
	p.t.Helper()
	require.NoError(p.t, p.run.Process.Signal(os.Interrupt))
	require.NoError(p.t, p.run.Wait())
}
