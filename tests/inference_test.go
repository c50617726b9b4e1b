package tests

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/oracle/openai/openaitest"
	"agenthost/sessions"
)

// What a prompt asks of models reaches the model's server, through every door.
func TestAPromptsParametersReachTheModel(t *testing.T) {
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) {
			model := openaitest.New(t, openaitest.Text(`{"n":1}`), openaitest.Text("plain"))
			call := caller{t, d.open(t, modelHost(t, model))}
			asked := api.PromptArgs{
				Address: atK, Text: "count", RequestID: "r",
				Params:       &sessions.Params{Temperature: new(0.0), MaxTokens: 5, Effort: "low"},
				AnswerSchema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
			}
			first := hosttest.Result[api.PromptResult](t, call.call(api.OpPrompt, asked))
			require.Equal(t, `{"n":1}`, sessions.TextOf(first.Message.Content))
			again := hosttest.Result[api.PromptResult](t, call.call(api.OpPrompt, asked))
			require.True(t, again.Duplicate)
			asked.Params.MaxTokens = 6
			require.Equal(t, sessions.CodeRequestConflict, hosttest.Code(call.call(api.OpPrompt, asked)))
			call.mustPrompt("k", "no more")

			var with, without map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(model.Requests()[0].Body, &with))
			require.NoError(t, json.Unmarshal(model.Requests()[1].Body, &without))
			require.Equal(t, `0`, string(with["temperature"]))
			require.Equal(t, `5`, string(with["max_completion_tokens"]))
			require.Equal(t, `"low"`, string(with["reasoning_effort"]))
			require.Contains(t, string(with["response_format"]), `"additionalProperties":false`)
			for _, field := range []string{"temperature", "max_completion_tokens", "reasoning_effort", "response_format"} {
				require.NotContains(t, without, field)
			}
		})
	}
}
