package tests

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/telemetry"
	"agenthost/sessions"
)

// Parts of the documentation that are made from what they describe. With
// -update they are written anew.
func TestDocumentationIsAsGenerated(t *testing.T) {
	for _, part := range []struct{ file, name, text string }{
		{"../docs/lifecycle.md", "diagram", "```mermaid\n" + sessions.Diagram() + "```\n"},
		{"../docs/protocol.md", "ops", tableOfOps()},
		{"../docs/protocol.md", "codes", tableOfCodes()},
		{"../docs/operations.md", "metrics", tableOfMetrics()},
		{"../docs/stores.md", "example", quoted(t, "../persistence/memory/contract_test.go")},
	} {
		t.Run(part.name, func(t *testing.T) {
			data, err := os.ReadFile(part.file)
			require.NoError(t, err)
			begin, end := "<!-- "+part.name+":begin -->\n", "<!-- "+part.name+":end -->\n"
			before, rest, ok := strings.Cut(string(data), begin)
			require.True(t, ok, "%s has no line %q", part.file, begin)
			have, after, ok := strings.Cut(rest, end)
			require.True(t, ok, "%s has no line %q", part.file, end)
			if *update {
				require.NoError(t, os.WriteFile(part.file, []byte(before+begin+part.text+end+after), 0o644))
				return
			}
			require.Equal(t, part.text, have, "run the tests of this folder with -update")
		})
	}
}

// quoted is a file of code as the documentation shows it.
func quoted(t *testing.T, file string) string {
	t.Helper()
	code, err := os.ReadFile(file)
	require.NoError(t, err)
	return "```go\n" + string(code) + "```\n"
}

func tableOfOps() string {
	var b strings.Builder
	b.WriteString("| op | what it does |\n|---|---|\n")
	for _, row := range api.Ops() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", row.Op, row.Summary)
	}
	return b.String()
}

func tableOfCodes() string {
	var b strings.Builder
	b.WriteString("| code | HTTP | retryable | meaning |\n|---|---|---|---|\n")
	for _, row := range sessions.Codes() {
		fmt.Fprintf(&b, "| `%s` | %d | %s | %s |\n", row.Code, row.HTTPStatus, yesNo(row.Retryable), row.Meaning)
	}
	return b.String()
}

func yesNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// Every operation has its own heading or row beyond the table.
func TestDocumentationTellsOfEveryOperation(t *testing.T) {
	data, err := os.ReadFile("../docs/protocol.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(data), "<!-- ops:end -->")
	require.True(t, ok)
	named := map[string]bool{}
	for word := range strings.SplitSeq(rest, "`") {
		named[word] = true
	}
	for _, row := range api.Ops() {
		require.True(t, named[string(row.Op)], "docs/protocol.md says nothing of %s but its row", row.Op)
	}
}

func tableOfMetrics() string {
	var b strings.Builder
	b.WriteString("| metric | kind | labels | what it counts | look out for |\n|---|---|---|---|---|\n")
	for _, d := range telemetry.Descriptions() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", d.Name, d.Kind, strings.Join(d.Labels, ", "), d.Help, d.Alert)
	}
	return b.String()
}
