package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// Whatever a file holds, reading it ends in values or in an error that names
// the file.
func FuzzParseFile(f *testing.F) {
	for _, seed := range []string{
		"", "store: a.db\nidleTTL: 10m\n", "oracles: {a: {provider: offline}}\nprofiles: {p: {tools: [/a]}}\n",
		"limits:\n  labels: 3\n", "a: &x {b: *x}\n", "? [a]\n: b\n", "profiles:\n  <<: {p: }\n", "- \xff", "!!binary x", "x: |\n\ty",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := parseFile("the.yaml", text)
		if err != nil {
			require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
			require.ErrorContains(t, err, "the.yaml: ")
			return
		}
		for k, v := range l.values {
			s, known := find(k)
			require.True(t, known, k)
			if s.check != nil {
				require.Empty(t, s.check(v.value), k)
			}
		}
	})
}
