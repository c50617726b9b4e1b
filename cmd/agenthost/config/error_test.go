package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/cmd/agenthost/config"
	"agenthost/sessions"
)

func TestFileErrorsNameTheKey(t *testing.T) {
	offline := "oracles: {a: {provider: offline}}\n"
	for name, test := range map[string]struct{ file, want string }{
		"unknown":           {"idelTTL: 1m", `agenthost.yaml: there is no setting "idelTTL"; the nearest is "idleTTL". Settings in this place: store, listen,`},
		"unknown in case":   {"IdleTtl: 1m", `"IdleTtl"; the nearest is "idleTTL"`},
		"unknown section":   {"profile: {}", `"profile"; the nearest is "profiles"`},
		"unknown limit":     {"limits: {messageByte: 1}", `"limits.messageByte"; the nearest is "limits.messageBytes"`},
		"unknown in named":  {"profiles: {v1.0: {maxIteration: 1}}", `"profiles.v1.0.maxIteration"; the nearest is "profiles.v1.0.maxIterations"`},
		"later feature":     {"admin: {}", `there is no setting "admin"`},
		"no duration":       {"idleTTL: soon", "idleTTL must be a duration such as 10m or 1h30m."},
		"bare number":       {"idleTTL: 10", "idleTTL must be a duration such as 10m"},
		"no time":           {"stopGrace: 0s", "stopGrace must be longer than nothing."},
		"no value":          {"listen:", "listen must be text"},
		"number as text":    {oraclesFile("provider: offline, model: 4"), "oracles.a.model must be text; put it in quotes."},
		"fraction":          {"limits: {labels: 1.5}", "limits.labels must be a whole number."},
		"zero":              {"limits: {labels: 0}", "limits.labels must be at least 1."},
		"negative":          {"limits: {labels: -1}", "limits.labels must be at least 1."},
		"beyond int64":      {"limits: {labels: 9223372036854775808}", "limits.labels is too large."},
		"no list":           {offline + "profiles: {p: {tools: /x}}", "profiles.p.tools must be a list such as [a, b]."},
		"list of numbers":   {offline + "profiles: {p: {tools: [1]}}", "profiles.p.tools must be a list of texts"},
		"tool path":         {offline + "profiles: {p: {tools: [/a/../b]}}", `profiles.p.tools has the entry "/a/../b"`},
		"empty segment":     {offline + "profiles: {p: {tools: [/a//b]}}", `has the entry "/a//b"`},
		"too many steps":    {offline + "profiles: {p: {maxIterations: 3000000000}}", "profiles.p.maxIterations must be at most"},
		"outcome":           {offline + "profiles: {p: {onToolError: ignore}}", `profiles.p.onToolError is "ignore", but must be one of fail, report.`},
		"frames":            {"frames: table", `frames is "table", but must be one of record, file.`},
		"durability":        {"durability: none", `durability is "none", but must be one of power, process.`},
		"target root":       {"targetRoot: targets", `targetRoot is "targets"`},
		"listen":            {"listen: localhost", `listen is "localhost", but must be host:port`},
		"port":              {"listen: localhost:http", `listen has the port "http"`},
		"other store":       {"store: postgres://u:hunter2@h/db", `store names the store "postgres", which this version does not have`},
		"empty store":       {"store: 'sqlite:'", "store needs a path"},
		"no mapping":        {"limits: 5", "limits must be a mapping"},
		"no mapping inside": {"oracles: {a: offline}", "oracles.a must be a mapping"},
		"no mapping at all": {"- a", "the file must be a mapping"},
		"control character": {"profiles: {\"a\\u0001\": {}}", "must be 1 to 256 printable bytes"},
		"age":               {"retention: {maxAge: 30}", "retention.maxAge must be a duration such as 10m or 1h30m, or 0 for off."},
		"negative age":      {"retention: {maxAge: -1h}", "retention.maxAge must not be negative; 0 means off."},
		"no interval":       {"retention: {every: 0s}", "retention.every must be longer than nothing."},
		"negative count":    {"retention: {maxSessions: -1}", "retention.maxSessions must be at least 0."},
		"unknown rule":      {"retention: {maxages: 1h}", `"retention.maxages"; the nearest is "retention.maxAge"`},
		"own interval":      {"profiles: {v1.0: {retention: {every: 1h}}}", `there is no setting "profiles.v1.0.retention.every"`},
		"rules by dots":     {"profiles: {p: {retention.maxAge: 1h}}", "profiles.p.retention.maxAge must be written as a mapping below retention."},
		"no rules":          {"profiles: {p: {retention: 1h}}", "profiles.p.retention must be a mapping"},
		"negative budget":   {"ownerDayTokens: -1", "ownerDayTokens must be at least 0."},
		"no yaml":           {"a: [", "agenthost.yaml: the file is no valid YAML"},
		"twice":             {"listen: a:1\nlisten: b:2\n", "the file is no valid YAML"},
		"two documents":     {"listen: a:1\n---\nlisten: b:2\n", "one YAML document"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, test.file, nil)
			require.ErrorContains(t, err, test.want)
			require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

// oraclesFile is a file with the one oracle a.
func oraclesFile(fields string) string { return "oracles: {a: {" + fields + "}}\n" }

func TestOracleErrors(t *testing.T) {
	openai := "provider: openai, model: m, "
	for name, test := range map[string]struct{ file, want string }{
		"no provider":     {oraclesFile(""), "oracles.a: an oracle needs a provider"},
		"wrong provider":  {oraclesFile("provider: openia"), `oracles.a.provider is "openia", but must be one of openai, anthropic, offline, scripted.`},
		"no model":        {oraclesFile("provider: openai, apiKeyEnv: K"), "oracles.a: the provider openai needs model."},
		"no key":          {oraclesFile("provider: openai, model: m"), "oracles.a: the provider openai needs apiKeyEnv or apiKeyFile"},
		"no claude":       {oraclesFile("provider: anthropic, apiKeyEnv: K"), "oracles.a: the provider anthropic needs model."},
		"no claude's key": {oraclesFile("provider: anthropic, model: m"), "oracles.a: the provider anthropic needs apiKeyEnv or apiKeyFile"},
		"two keys":        {oraclesFile(openai + "apiKeyEnv: K, apiKeyFile: f"), "not both"},
		"unset variable":  {oraclesFile(openai + "apiKeyEnv: UNSET"), "oracles.a.apiKeyEnv: the environment variable UNSET is not set."},
		"missing file":    {oraclesFile(openai + "apiKeyFile: nowhere"), "oracles.a.apiKeyFile: the file nowhere cannot be read."},
		"base":            {oraclesFile(openai + "baseURL: 'ftp://x'"), "oracles.a.baseURL must be a URL"},
		"base with user":  {oraclesFile(openai + "baseURL: 'https://u:hunter2@x'"), "oracles.a.baseURL must hold no user or password"},
		"key in place":    {oraclesFile(openai + "apiKeyEnv: sk-hunter2"), "oracles.a.apiKeyEnv must be the name of an environment variable"},
		"key in file":     {oraclesFile(openai + "apiKey: sk-hunter2"), `no setting "oracles.a.apiKey"; the nearest is "oracles.a.apiKeyEnv"`},
		"idle field":      {oraclesFile("provider: offline, model: m"), "for the providers openai and anthropic only"},
		"idle file":       {oraclesFile("provider: offline, file: f"), "for the provider scripted only"},
		"no script":       {oraclesFile("provider: scripted"), "the provider scripted needs file"},
		"unknown oracle":  {oraclesFile("provider: offline") + "profiles: {p: {oracle: b}}", `profiles.p.oracle: no oracle is called "b"; there are a.`},
		"several oracles": {"oracles: {a: {provider: offline}, b: {provider: offline}}", "profiles.default.oracle: there are several oracles, and none is called main; name one of a, b."},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, test.file, []string{"K=v"})
			require.ErrorContains(t, err, test.want)
			require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestKeyFile(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("agenthost.yaml", []byte(oraclesFile("provider: openai, model: m, apiKeyFile: key")), 0o600))
	require.NoError(t, os.WriteFile("key", []byte("  hush\n"), 0o600))
	c, err := config.Load(config.Options{Env: []string{}})
	require.NoError(t, err)
	require.Equal(t, "hush", c.Oracles["a"].APIKey.Reveal())

	require.NoError(t, os.WriteFile("key", []byte("\n"), 0o600))
	_, err = config.Load(config.Options{Env: []string{}})
	require.ErrorContains(t, err, "oracles.a.apiKeyFile: the file key is empty.")
}

func TestFlagErrorsNameTheFlag(t *testing.T) {
	for _, test := range []struct{ key, value, want string }{
		{"listen", "nowhere", "--flag: listen is"},
		{"limits.labels", "many", "--flag: limits.labels must be a whole number."},
		{"limits", "5", `--flag: there is no setting "limits"`},
		{"profiles.default", "x", `--flag: there is no setting "profiles.default"`},
		{"profiles..system", "x", `--flag: there is no setting "profiles.system"`},
		{"things.of.mine", "x", `--flag: there is no setting "things"`},
		{"profiles.p.tools", "[1", "--flag: profiles.p.tools must be a list"},
		{"", "x", "--flag: there is no setting"},
	} {
		_, err := load(t, "", nil, config.Flag{Name: "--flag", Key: test.key, Value: test.value})
		require.ErrorContains(t, err, test.want)
	}
}

func TestNearestIsNearest(t *testing.T) {
	for wrong, want := range map[string]string{
		"stor": "store", "listn": "listen", "dedupttl": "dedupTTL", "stopGraze": "stopGrace",
		"targetroot": "targetRoot", "durabilty": "durability", "oracle": "oracles", "limit": "limits",
	} {
		_, err := load(t, wrong+": x", nil)
		require.ErrorContains(t, err, `the nearest is "`+want+`"`)
		require.Equal(t, 1, strings.Count(err.Error(), "nearest"))
	}
}
