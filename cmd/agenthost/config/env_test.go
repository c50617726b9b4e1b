package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/cmd/agenthost/config"
)

func TestEnvironmentReachesEveryValue(t *testing.T) {
	file := `
oracles: {main: {provider: openai, model: m, baseURL: "http://x/v1"}}
profiles: {gpt-4.1: {}, Mixed_Case: {}}
`
	c := mustLoad(t, file, []string{
		"AGENTHOST_STORE=other.db",
		"AGENTHOST_TARGET_ROOT=/t",
		"AGENTHOST_LIMITS_PARALLEL_TOOL_CALLS=4",
		"AGENTHOST_ORACLES_MAIN_BASE_URL=http://y/v1",
		"AGENTHOST_ORACLES_MAIN_API_KEY_ENV=K",
		"AGENTHOST_ORACLES_SIDE_DOOR_PROVIDER=offline",
		"AGENTHOST_PROFILES_GPT_4_1_IDLE_TTL=1s",
		"AGENTHOST_PROFILES_MIXED_CASE_TOOLS=[/a, '/b,c']",
		"AGENTHOST_PROFILES_NEW_SYSTEM=Be brief: a, b.",
		"AGENTHOST_RETENTION_MAX_AGE=24h",
		"AGENTHOST_RETENTION_BLANK_AFTER=0",
		"AGENTHOST_PROFILES_GPT_4_1_RETENTION_MAX_SESSIONS=7",
		"K=hush",
	})
	require.Equal(t, "sqlite:other.db", c.Store)
	require.Equal(t, "/t", c.TargetRoot)
	require.Equal(t, 4, c.Limits.ParallelToolCalls)
	require.Equal(t, config.Oracle{Provider: config.ProviderOpenAI, Model: "m", BaseURL: "http://y/v1", APIKeyEnv: "K", APIKey: "hush"}, c.Oracles["main"])
	require.Equal(t, config.ProviderOffline, c.Oracles["side_door"].Provider)
	require.Equal(t, "1s", c.Profiles["gpt-4.1"].IdleTTL.String())
	require.Equal(t, []string{"/a", "/b,c"}, c.Profiles["Mixed_Case"].Tools)
	require.Equal(t, "Be brief: a, b.", c.Profiles["new"].System)
	require.Equal(t, config.Retention{Every: 5 * time.Minute, RetentionRules: config.RetentionRules{MaxAge: 24 * time.Hour}}, c.Retention)
	require.EqualValues(t, 7, c.Profiles["gpt-4.1"].Retention.MaxSessions)
	require.Len(t, c.Profiles, 3)
}

func TestVariablesOfOthersAreLeftAlone(t *testing.T) {
	mustLoad(t, "", []string{
		"AGENTHOST_URL=http://127.0.0.1:7777", "AGENTHOST_KEY=k", "AGENTHOST_IDLE_TTL=",
		"AGENTHOST_PORT=tcp://10.0.0.1:7777", "AGENTHOST_PORT_7777_TCP=tcp://10.0.0.1:7777",
		"AGENTHOST_SERVICE_HOST=10.0.0.1", "PATH=/bin", "AGENTHOSTILE=1",
	})
}

func TestEnvironmentErrorsNameTheVariable(t *testing.T) {
	twins := "oracles: {a: {provider: offline}}\nprofiles: {x-y: {}, x.y: {}}\n"
	for _, test := range []struct{ file, variable, want string }{
		{"", "AGENTHOST_IDEL_TTL=1m", "AGENTHOST_IDEL_TTL: there is no setting of this name; the nearest is AGENTHOST_IDLE_TTL."},
		{"", "AGENTHOST_LIMITS_LABEL=1", "the nearest is AGENTHOST_LIMITS_LABELS."},
		{"", "AGENTHOST_IDLE_TTL=never", "AGENTHOST_IDLE_TTL: idleTTL must be a duration"},
		{"", "AGENTHOST_PROFILES_P_SYSTEM=\xff", "AGENTHOST_PROFILES_P_SYSTEM: profiles.p.system must be valid UTF-8."},
		{"", "AGENTHOST_LIMITS_LABELS=9.5", "AGENTHOST_LIMITS_LABELS: limits.labels must be a whole number."},
		{"", "AGENTHOST_PROFILES_DEFAULT=x", "is written AGENTHOST_PROFILES_NAME_SETTING"},
		{"", "AGENTHOST_ORACLES__MODEL=x", "is written AGENTHOST_ORACLES_NAME_SETTING"},
		{twins, "AGENTHOST_PROFILES_X_Y_SYSTEM=s", "could mean any of the profiles x-y, x.y"},
	} {
		_, err := load(t, test.file, []string{test.variable})
		require.ErrorContains(t, err, test.want)
	}
}

func TestOracleIsPickedFromTheEnvironment(t *testing.T) {
	openai := config.Oracle{Provider: config.ProviderOpenAI, Model: "gpt-5-mini", APIKeyEnv: "OPENAI_API_KEY", APIKey: "k"}
	proxied, named := openai, openai
	proxied.BaseURL = "https://proxy.example/v1"
	named.Model = "other"
	claude := config.Oracle{Provider: config.ProviderAnthropic, Model: "claude-haiku-5-5", APIKeyEnv: "ANTHROPIC_API_KEY", APIKey: "a"}
	proxiedClaude := claude
	proxiedClaude.BaseURL, proxiedClaude.Model = "https://proxy.example", "other"
	ollama := func(base, model string) config.Oracle {
		return config.Oracle{Provider: config.ProviderOpenAI, Model: model, BaseURL: base}
	}
	for _, test := range []struct {
		env    []string
		picked string
		want   config.Oracle
	}{
		{[]string{"OPENAI_API_KEY=k", "OLLAMA_HOST=x"}, "openai", openai},
		{[]string{"OPENAI_API_KEY=k", "OPENAI_MODEL=other"}, "openai", named},
		{[]string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=https://proxy.example/v1"}, "openai", proxied},
		{[]string{"OPENAI_API_KEY=k", "ANTHROPIC_API_KEY=a"}, "openai", openai},
		{[]string{"ANTHROPIC_API_KEY=a", "OLLAMA_HOST=x"}, "anthropic", claude},
		{[]string{"ANTHROPIC_API_KEY=a", "ANTHROPIC_MODEL=other", "ANTHROPIC_BASE_URL=https://proxy.example"}, "anthropic", proxiedClaude},
		{[]string{"OLLAMA_HOST=box"}, "ollama", ollama("http://box:11434/v1", "llama3.2")},
		{[]string{"OLLAMA_HOST=box:1", "OLLAMA_MODEL=m"}, "ollama", ollama("http://box:1/v1", "m")},
		{[]string{"OLLAMA_HOST=0.0.0.0"}, "ollama", ollama("http://127.0.0.1:11434/v1", "llama3.2")},
		{[]string{"OLLAMA_HOST=:9"}, "ollama", ollama("http://127.0.0.1:9/v1", "llama3.2")},
		{[]string{"OLLAMA_HOST=https://box/"}, "ollama", ollama("https://box/v1", "llama3.2")},
		{[]string{"OLLAMA_HOST=http://box:2/v1"}, "ollama", ollama("http://box:2/v1", "llama3.2")},
		{[]string{"OLLAMA_HOST=http://[::1]:2"}, "ollama", ollama("http://[::1]:2/v1", "llama3.2")},
		{[]string{"OPENAI_API_KEY="}, "offline", config.Oracle{Provider: config.ProviderOffline}},
	} {
		c := mustLoad(t, "", test.env)
		require.Equal(t, test.picked, c.Picked)
		require.Equal(t, map[string]config.Oracle{test.picked: test.want}, c.Oracles, test.env)
		require.Equal(t, test.picked, c.Profiles["default"].Oracle)
	}
}

func TestPickedValuesTellTheirSource(t *testing.T) {
	c := mustLoad(t, "", []string{"OPENAI_API_KEY=k", "OPENAI_MODEL=other"})
	source, origin := sourceOf(t, c, "oracles.openai.model")
	require.Equal(t, config.SourceEnv, source)
	require.Equal(t, "OPENAI_MODEL", origin)

	c = mustLoad(t, "", []string{"OPENAI_API_KEY=k"})
	source, _ = sourceOf(t, c, "oracles.openai.model")
	require.Equal(t, config.SourceDefault, source)
}

func TestConfiguredOracleWinsOverTheEnvironment(t *testing.T) {
	c := mustLoad(t, "oracles: {mine: {provider: offline}}", []string{"OPENAI_API_KEY=k"})
	require.Empty(t, c.Picked)
	require.Equal(t, map[string]config.Oracle{"mine": {Provider: config.ProviderOffline}}, c.Oracles)
	require.Equal(t, "mine", c.Profiles["default"].Oracle)
}

func TestWrongBaseInTheEnvironmentIsNamed(t *testing.T) {
	_, err := load(t, "", []string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=https://u:hunter2@x"})
	require.ErrorContains(t, err, "OPENAI_BASE_URL: oracles.openai.baseURL must hold no user or password")
	require.NotContains(t, err.Error(), "hunter2")
}
