package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/cmd/agenthost/config"
	"agenthost/sessions"
)

// load reads the file's text, with nothing from the process's environment.
func load(t *testing.T, file string, env []string, flags ...config.Flag) (*config.Config, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	if file != "" {
		require.NoError(t, os.WriteFile("agenthost.yaml", []byte(file), 0o600))
	}
	if env == nil {
		env = []string{}
	}
	return config.Load(config.Options{Env: env, Flags: flags})
}

func mustLoad(t *testing.T, file string, env []string, flags ...config.Flag) *config.Config {
	t.Helper()
	c, err := load(t, file, env, flags...)
	require.NoError(t, err)
	return c
}

// sourceOf returns the source and origin that are reported for a key.
func sourceOf(t *testing.T, c *config.Config, key string) (config.Source, string) {
	t.Helper()
	for _, v := range c.Values() {
		if v.Key == key {
			return v.Source, v.Origin
		}
	}
	t.Fatalf("no value is listed for %s", key)
	return "", ""
}

func TestDefaults(t *testing.T) {
	c := mustLoad(t, "", nil)
	require.Empty(t, c.File)
	require.Equal(t, "sqlite:agenthost.db", c.Store)
	require.Equal(t, "agenthost.db", c.DatabasePath())
	require.Equal(t, "127.0.0.1:7777", c.Listen)
	require.Empty(t, c.Unix)
	require.Equal(t, 10*time.Minute, c.IdleTTL)
	require.Equal(t, 5*time.Minute, c.DedupTTL)
	require.Equal(t, 10*time.Second, c.StopGrace)
	require.Equal(t, config.DurabilityPower, c.Durability)
	require.Equal(t, config.FramesRecord, c.Frames)
	require.Equal(t, "/targets", c.TargetRoot)
	require.Equal(t, config.Retention{Every: 5 * time.Minute}, c.Retention)
	require.Equal(t, sessions.DefaultLimits(), c.Limits)
	require.Equal(t, "offline", c.Picked)
	require.Equal(t, map[string]config.Oracle{"offline": {Provider: config.ProviderOffline}}, c.Oracles)
	require.Equal(t, map[string]config.Profile{"default": {
		Oracle:           "offline",
		Tools:            []string{"{target}", "/builtin"},
		MaxIterations:    25,
		PromptTimeout:    5 * time.Minute,
		IdleTTL:          10 * time.Minute,
		OnScopeViolation: config.OutcomeFail,
		OnToolError:      config.OutcomeReport,
		ToolTimeout:      2 * time.Minute,
		Repeatable:       []string{},
		NeedsApproval:    []string{},
	}}, c.Profiles)
	for _, v := range c.Values() {
		require.Equal(t, config.SourceDefault, v.Source, v.Key)
	}
}

const wholeFile = `
store: sqlite:/var/lib/agenthost.db
listen: "[::1]:0"
unix: /run/agenthost.sock
idleTTL: 1h30m
dedupTTL: 90s
stopGrace: 500ms
durability: process
frames: file
targetRoot: /things/of
oracles:
  main: {provider: openai, model: m, baseURL: "https://models.example/v1", apiKeyEnv: MAIN_KEY}
  local: {provider: openai, model: l, baseURL: "http://127.0.0.1:11434/v1"}
  qwen-2.5: {provider: scripted, file: script.yaml}
profiles:
  default:
    oracle: local
    system: |
      First line.
      Second line.
    tools: ["/builtin/time"]
    maxIterations: 3
    promptTimeout: 10s
    idleTTL: 1s
    onScopeViolation: report
    onToolError: fail
    toolTimeout: 2s
    repeatable: ["/orders/lookup"]
  v4.1: {tools: []}
  plain:
limits: {messageBytes: 2000, busyTurns: 7}
`

func TestWholeFile(t *testing.T) {
	c := mustLoad(t, wholeFile, []string{"MAIN_KEY=hush"})
	require.Equal(t, "agenthost.yaml", c.File)
	require.Empty(t, c.Picked)
	require.Equal(t, "/var/lib/agenthost.db", c.DatabasePath())
	require.Equal(t, "[::1]:0", c.Listen)
	require.Equal(t, "/run/agenthost.sock", c.Unix)
	require.Equal(t, 90*time.Minute, c.IdleTTL)
	require.Equal(t, 90*time.Second, c.DedupTTL)
	require.Equal(t, 500*time.Millisecond, c.StopGrace)
	require.Equal(t, config.DurabilityProcess, c.Durability)
	require.Equal(t, config.FramesFile, c.Frames)
	require.Equal(t, "/things/of", c.TargetRoot)
	require.Equal(t, map[string]config.Oracle{
		"main":     {Provider: config.ProviderOpenAI, Model: "m", BaseURL: "https://models.example/v1", APIKeyEnv: "MAIN_KEY", APIKey: "hush"},
		"local":    {Provider: config.ProviderOpenAI, Model: "l", BaseURL: "http://127.0.0.1:11434/v1"},
		"qwen-2.5": {Provider: config.ProviderScripted, File: "script.yaml"},
	}, c.Oracles)
	require.Equal(t, config.Profile{
		Oracle: "local", System: "First line.\nSecond line.\n", Tools: []string{"/builtin/time"}, MaxIterations: 3,
		PromptTimeout: 10 * time.Second, IdleTTL: time.Second, OnScopeViolation: config.OutcomeReport,
		OnToolError: config.OutcomeFail, ToolTimeout: 2 * time.Second, Repeatable: []string{"/orders/lookup"},
		NeedsApproval: []string{},
	}, c.Profiles["default"])
	require.Len(t, c.Profiles, 3)
	require.Empty(t, c.Profiles["v4.1"].Tools)
	require.Equal(t, "main", c.Profiles["plain"].Oracle, "of several oracles, profiles mean main")
	require.Equal(t, 90*time.Minute, c.Profiles["plain"].IdleTTL, "a profile follows the host's idleTTL")
	want := sessions.DefaultLimits()
	want.MessageBytes, want.BusyTurns = 2000, 7
	require.Equal(t, want, c.Limits)
}

func TestPrecedence(t *testing.T) {
	file := "listen: 127.0.0.1:1\nidleTTL: 1m\n"
	env := []string{"AGENTHOST_LISTEN=127.0.0.1:2", "AGENTHOST_IDLE_TTL=2m"}
	c := mustLoad(t, file, env, config.Flag{Name: "--listen", Key: "listen", Value: "127.0.0.1:3"})
	require.Equal(t, "127.0.0.1:3", c.Listen)
	require.Equal(t, 2*time.Minute, c.IdleTTL)
	require.Equal(t, 2*time.Minute, c.Profiles["default"].IdleTTL)
	for key, want := range map[string][2]string{
		"listen":                   {"flag", "--listen"},
		"idleTTL":                  {"env", "AGENTHOST_IDLE_TTL"},
		"profiles.default.idleTTL": {"default", ""},
		"store":                    {"default", ""},
	} {
		source, origin := sourceOf(t, c, key)
		require.Equal(t, want, [2]string{string(source), origin}, key)
	}
	c = mustLoad(t, file, nil)
	source, origin := sourceOf(t, c, "listen")
	require.Equal(t, config.SourceFile, source)
	require.Equal(t, "agenthost.yaml", origin)
}

func TestFlagsReachEveryValue(t *testing.T) {
	c := mustLoad(t, "", nil,
		config.Flag{Name: "--set", Key: "oracles.a.b.provider", Value: "scripted"},
		config.Flag{Name: "--set", Key: "oracles.a.b.file", Value: "first.yaml"},
		config.Flag{Name: "--set", Key: "oracles.a.b.file", Value: "second.yaml"},
		config.Flag{Name: "--set", Key: "profiles.p.tools", Value: "/builtin, {target}"},
		config.Flag{Name: "--set", Key: "limits.labels", Value: "5"},
	)
	require.Equal(t, map[string]config.Oracle{"a.b": {Provider: config.ProviderScripted, File: "second.yaml"}}, c.Oracles)
	require.Equal(t, []string{"/builtin", "{target}"}, c.Profiles["p"].Tools)
	require.Equal(t, "a.b", c.Profiles["p"].Oracle, "the only oracle is meant")
	require.Equal(t, 5, c.Limits.Labels)
	require.NotContains(t, c.Profiles, "default")
}

func TestFileIsChosen(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	byFlag := write("a.yaml", "listen: 127.0.0.1:1")
	byEnv := write("b.yaml", "listen: 127.0.0.1:2")

	c, err := config.Load(config.Options{File: byFlag, Env: []string{"AGENTHOST_CONFIG=" + byEnv}})
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:1", c.Listen)
	require.Equal(t, byFlag, c.File)

	c, err = config.Load(config.Options{Env: []string{"AGENTHOST_CONFIG=" + byEnv}})
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:2", c.Listen)

	_, err = config.Load(config.Options{File: "missing.yaml", Env: []string{}})
	require.ErrorContains(t, err, "missing.yaml: the configuration file does not exist.")
}

func TestBarePathIsSQLite(t *testing.T) {
	for given, want := range map[string]string{
		"data.db": "data.db", "/a/b:c.db": "/a/b:c.db", "sqlite:x.db": "x.db", "./odd:name": "./odd:name",
	} {
		c := mustLoad(t, "", nil, config.Flag{Name: "--db", Key: "store", Value: given})
		require.Equal(t, "sqlite:"+want, c.Store)
		require.Equal(t, want, c.DatabasePath())
	}
}

func TestEmptyFileIsNoFault(t *testing.T) {
	for _, text := range []string{"\n", "# only words\n", "profiles:\noracles:\nlimits:\n", "---\n"} {
		c := mustLoad(t, text, nil)
		require.Contains(t, c.Profiles, "default")
	}
}

func TestDocumentedExampleLoads(t *testing.T) {
	text, err := os.ReadFile("../../../docs/operations.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "## Configuration\n")
	require.True(t, found)
	_, rest, found = strings.Cut(rest, "```yaml\n")
	require.True(t, found)
	example, _, _ := strings.Cut(rest, "```")
	c := mustLoad(t, example, []string{"OPENAI_API_KEY=k"})
	require.Equal(t, "main", c.Profiles["default"].Oracle)
	require.Equal(t, "local", c.Profiles["careful"].Oracle)
	require.Equal(t, int64(65536), c.Limits.MessageBytes)
}
