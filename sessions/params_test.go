package sessions_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func TestCheckNamesTheParameterThatNoProviderWouldTake(t *testing.T) {
	number := func(x float64) *float64 { return &x }
	for _, good := range []sessions.Params{
		{},
		{Temperature: number(0), TopP: number(0), Effort: "none"},
		{Temperature: number(2), TopP: number(1), MaxTokens: 1, Seed: new(int64), Effort: "max"},
	} {
		require.NoError(t, good.Check("/params"))
	}
	for field, bad := range map[string][]sessions.Params{
		"/params/temperature": {{Temperature: number(-0.1)}, {Temperature: number(2.1)}, {Temperature: number(math.NaN())}},
		"/params/topP":        {{TopP: number(-0.1)}, {TopP: number(1.1)}},
		"/params/maxTokens":   {{MaxTokens: -1}},
		"/params/effort":      {{Effort: "immense"}},
	} {
		for _, p := range bad {
			err := p.Check("/params")
			require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
			require.Equal(t, field, sessions.AsError(err).Details["field"])
		}
	}
}

// Zero is a value, and what is not set is not written.
func TestParamsKeepTheDifferenceOfZeroAndUnset(t *testing.T) {
	unset, err := json.Marshal(sessions.Params{})
	require.NoError(t, err)
	require.JSONEq(t, `{}`, string(unset))
	zero, err := json.Marshal(sessions.Params{Temperature: new(float64), TopP: new(float64), Seed: new(int64)})
	require.NoError(t, err)
	require.JSONEq(t, `{"temperature":0,"topP":0,"seed":0}`, string(zero))
}

func TestParamsOfAPromptStandOverThoseOfItsProfile(t *testing.T) {
	zero, one, seed := 0.0, 1.0, int64(7)
	profile := sessions.Params{Temperature: &one, TopP: &one, MaxTokens: 5, Seed: &seed}
	prompt := sessions.Params{Temperature: &zero, MaxTokens: 9, Effort: "low"}
	require.Equal(t, sessions.Params{Temperature: &zero, TopP: &one, MaxTokens: 9, Seed: &seed, Effort: "low"}, prompt.Over(profile))
	require.Equal(t, profile, sessions.Params{}.Over(profile))
	require.True(t, sessions.Inference{}.IsZero())
	require.False(t, sessions.Inference{Params: prompt}.IsZero())
	require.False(t, sessions.Inference{AnswerSchema: json.RawMessage(`{}`)}.IsZero())
}
