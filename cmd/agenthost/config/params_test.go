package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/cmd/agenthost/config"
	"agenthost/sessions"
)

func TestParametersOfProfiles(t *testing.T) {
	file := `
oracles:
  main: {provider: openai, model: m, baseURL: "http://x/v1"}
  claude: {provider: anthropic, model: c, baseURL: "http://y"}
profiles:
  default: {}
  v1.0:
    params: {temperature: 0, topP: 1, maxTokens: 500, seed: 0, effort: low}
    answerSchema: {type: object, properties: {n: {type: integer, maximum: 9007199254740993}}, additionalProperties: false}
  other: {oracle: claude, params: {maxTokens: 9, effort: max}, answerSchema: '{"type": "object"}'}
`
	c := mustLoad(t, file, []string{"AGENTHOST_PROFILES_DEFAULT_PARAMS_TEMPERATURE=1.5"},
		config.Flag{Name: "--set", Key: "profiles.v1.0.params.maxTokens", Value: "600"},
		config.Flag{Name: "--set", Key: "profiles.default.answerSchema", Value: `{"type":"object"}`})
	number := func(x float64) *float64 { return &x }
	require.Equal(t, sessions.Params{Temperature: number(0), TopP: number(1), MaxTokens: 600, Seed: new(int64), Effort: "low"}, c.Profiles["v1.0"].Params)
	require.Equal(t, sessions.Params{Temperature: number(1.5)}, c.Profiles["default"].Params)
	require.Equal(t, sessions.Params{MaxTokens: 9, Effort: "max"}, c.Profiles["other"].Params)
	require.Equal(t, `{"additionalProperties":false,"properties":{"n":{"maximum":9007199254740993,"type":"integer"}},"type":"object"}`, c.Profiles["v1.0"].AnswerSchema)
	require.JSONEq(t, `{"type":"object"}`, string(c.Profiles["default"].Schema()))
	require.Equal(t, `{"type": "object"}`, c.Profiles["other"].AnswerSchema)
	require.Nil(t, mustLoad(t, "", nil).Profiles["default"].Schema(), "not an empty one, which is no JSON")

	var lines strings.Builder
	require.NoError(t, c.Print(&lines, false))
	require.Regexp(t, `(?m)^profiles\.v1\.0\.params\.temperature +file +0$`, lines.String())
	require.Regexp(t, `(?m)^profiles\.default\.params\.temperature +env +1\.5$`, lines.String())
	require.NotContains(t, lines.String(), "profiles.default.params.topP", "what is not set is not there")
}

func TestWrongParametersAreNamed(t *testing.T) {
	const claude = "oracles: {a: {provider: anthropic, model: m, baseURL: 'http://x'}}\n"
	for name, test := range map[string]struct{ file, want string }{
		"text":        {"profiles: {p: {params: {temperature: hot}}}", "profiles.p.params.temperature must be a number."},
		"too warm":    {"profiles: {p: {params: {temperature: 2.5}}}", "profiles.p.params: A temperature is from 0 to 2."},
		"no number":   {"profiles: {p: {params: {topP: .nan}}}", "profiles.p.params: topP is from 0 to 1."},
		"no tokens":   {"profiles: {p: {params: {maxTokens: 0}}}", "profiles.p.params.maxTokens must be at least 1."},
		"half a seed": {"profiles: {p: {params: {seed: 0.5}}}", "profiles.p.params.seed must be a whole number."},
		"effort":      {"profiles: {p: {params: {effort: huge}}}", "profiles.p.params: An effort is one of none, minimal"},
		"unknown":     {"profiles: {p: {params: {temprature: 1}}}", `the nearest is "profiles.p.params.temperature"`},
		"claude":      {claude + "profiles: {p: {params: {seed: 1}}}", "profiles.p.params: the provider anthropic has no temperature, no topP and no seed."},
		"list":        {"profiles: {p: {answerSchema: [1]}}", "profiles.p.answerSchema must be a JSON Schema"},
		"no JSON":     {"profiles: {p: {answerSchema: '{'}}", "profiles.p.answerSchema must be a JSON Schema"},
		"no object":   {"profiles: {p: {answerSchema: 'null'}}", "profiles.p.answerSchema must be a JSON Schema"},
	} {
		_, err := load(t, test.file, nil)
		require.ErrorContains(t, err, test.want, name)
	}
	_, err := load(t, "", []string{"AGENTHOST_PROFILES_DEFAULT_PARAMS_TOP_P=x"})
	require.ErrorContains(t, err, "AGENTHOST_PROFILES_DEFAULT_PARAMS_TOP_P: profiles.default.params.topP must be a number.")
}
