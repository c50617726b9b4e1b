package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What cells have made is there after a kill, closures too.
func TestCellsGoOnAfterAKill(t *testing.T) {
	p := newProgram(t)
	settings := "oracles: {o: {provider: offline}}\nprofiles: {default: {tools: [/repl]}}\nrepl: {timeout: 1m, memoryBytes: 16777216}\n"
	require.NoError(t, os.WriteFile(filepath.Join(p.folder, "agenthost.yaml"), []byte(settings), 0o600))
	cell := func(code string) string {
		t.Helper()
		answer, _ := p.run("prompt", "--target", "demo", `/call repl {"code":"`+code+`"}`)
		return answer
	}
	listed, _ := p.run("tools")
	require.Regexp(t, `(?m)^/repl +Runs JavaScript`, listed)

	host, _ := p.serve()
	require.Contains(t, cell("const count = (() => { let n = 0; return () => ++n })(); let name = 'Ada'; count()"), `{"value":1}`)
	require.Contains(t, cell("count()"), `{"value":2}`)
	require.Contains(t, cell("count(); name = 'Eve'; for (const all = [];;) all.push(new ArrayBuffer(1e6))"), "16777216 bytes")
	require.NoError(t, host.Process.Kill())
	require.Error(t, host.Wait())

	p.serve()
	require.Contains(t, cell("[count(), name]"), `{"value":[3,"Ada"]}`)
	both, _ := p.run("prompt", "--target", "demo", "/call repl {\"code\":\"count()\"}\n/call repl {\"code\":\"count()\"}")
	require.Contains(t, both, `{"value":4}`)
	require.Contains(t, both, `{"value":5}`)
	require.Contains(t, cell("count()"), `{"value":6}`)
}
