package scripted_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/oracle"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

const demo = `
rules:
  - when: weather
    regexp: "in \\w+$"
    steps:
      - calls:
          - {path: /builtin/time, args: {zone: UTC, at: [1, 2]}}
          - {id: raw, path: no_such_tool, args: "{not json"}
      - {text: "It rains.", usage: {input: 12, output: 3, cached: 8}}
steps:
  - deltas: ["Hel", {after: 200ms, text: "lo"}]
  - {delay: 1s, text: "I can", fail: "overloaded"}
  - {overflow: true}
  - {text: "No.", stop: refusal, repeat: true}
`

func TestParsePlaysWhatTheFileSays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "script.yaml")
	require.NoError(t, os.WriteFile(file, []byte(demo), 0o600))
	o, err := scripted.Load(file)
	require.NoError(t, err)

	ask := []sessions.Message{user("the weather in Rome")}
	parts, err := infer(t.Context(), o, ask...)
	require.NoError(t, err)
	require.Equal(t, []oracle.Part{
		oracle.ToolCall{ID: "call-2-1", Function: "/builtin/time", Args: `{"at":[1,2],"zone":"UTC"}`},
		oracle.ToolCall{ID: "raw", Function: "no_such_tool", Args: "{not json"},
		oracle.Stop{Reason: oracle.StopCalls},
	}, parts)
	parts, err = infer(t.Context(), o, append(ask, calling("call-2-1", "raw"), result("call-2-1"), result("raw"))...)
	require.NoError(t, err)
	require.Equal(t, []oracle.Part{
		oracle.TextDelta{Text: "It rains."},
		oracle.UsageReport{Usage: sessions.Usage{InputTokens: 12, OutputTokens: 3, CachedTokens: 8, Calls: 1}},
		oracle.Stop{Reason: oracle.StopDone},
	}, parts)

	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		require.Equal(t, "Hello", says(t, o, user("the weather in Rome, please")))
		require.Equal(t, 200*time.Millisecond, time.Since(start))
		_, err = infer(t.Context(), o, user("x"))
		require.ErrorContains(t, sessions.AsError(err).Cause, "overloaded")
		require.Equal(t, 1200*time.Millisecond, time.Since(start))
	})
	_, err = infer(t.Context(), o, user("x"))
	require.ErrorIs(t, err, oracle.ErrOverflow)
	require.Equal(t, sessions.CodeLLMAPIFailure, sessions.CodeOf(err))
	for range 2 {
		parts, err = infer(t.Context(), o, user("x"))
		require.NoError(t, err)
		require.Equal(t, oracle.Stop{Reason: oracle.StopRefusal}, parts[1])
	}
}

func TestParseSaysWhatIsWrongWhere(t *testing.T) {
	for script, want := range map[string]string{
		"":                                   "neither rules nor steps",
		"steps: [{txet: hi}]":                "txet",
		"steps: [{text: hi, delay: soon}]":   "soon",
		"steps: {":                           "YAML",
		"rules: [{regexp: '('}]":             "rules[0].regexp",
		"steps: [{stop: never}]":             "steps[0].stop",
		"steps: [{calls: [{args: '{}'}]}]":   "steps[0].calls[0]",
		"steps: [{repeat: true}, {text: a}]": "steps[1]",
		"rules: [{when: a, steps: [{repeat: true}, {text: a}]}]": "rules[0].steps[1]",
		"steps: [{deltas: [{after: 1s, words: a}]}]":             "words",
	} {
		_, err := scripted.Parse([]byte(script))
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err), script)
		require.ErrorContains(t, err, want, script)
	}
	_, err := scripted.Load(filepath.Join(t.TempDir(), "none.yaml"))
	require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
}
