package oracle_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/oracle"
	"agenthost/sessions"
)

func TestCheckNamesTheParameterThatNoProviderWouldTake(t *testing.T) {
	number := func(x float64) *float64 { return &x }
	for _, good := range []oracle.Params{
		{},
		{Temperature: number(0), TopP: number(0), Effort: "none"},
		{Temperature: number(2), TopP: number(1), MaxTokens: 1, Seed: new(int64), Effort: "max"},
	} {
		require.NoError(t, good.Check("/params"))
	}
	for field, bad := range map[string][]oracle.Params{
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
	unset, err := json.Marshal(oracle.Params{})
	require.NoError(t, err)
	require.JSONEq(t, `{}`, string(unset))
	zero, err := json.Marshal(oracle.Params{Temperature: new(float64), TopP: new(float64), Seed: new(int64)})
	require.NoError(t, err)
	require.JSONEq(t, `{"temperature":0,"topP":0,"seed":0}`, string(zero))
}
