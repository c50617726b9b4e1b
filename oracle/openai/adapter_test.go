package openai_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/oracle"
	"agenthost/oracle/openai"
	"agenthost/oracle/openai/openaitest"
	"agenthost/oracle/provider"
	"agenthost/oracle/provider/adaptertest"
	"agenthost/oracle/provider/providertest"
)

var adapter = adaptertest.Adapter{
	API:   openaitest.API,
	New:   func(c provider.Config) (oracle.Oracle, error) { return openai.New(c) },
	Text:  openaitest.Text,
	Calls: openaitest.Calls,
	Start: []string{openaitest.Chunk(`{"role":"assistant","content":""}`, "")},
	Say:   func(text string) []string { return []string{openaitest.Delta(text)} },
	Call: func(i int) string {
		return openaitest.Chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"x","arguments":""}}]}`, i, i), "")
	},
	Args: func(i int, text string) string {
		return openaitest.Chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, providertest.Quote(text)), "")
	},
	Half: `data: {"id":"chat`,
	Error: func(message string) string {
		return openaitest.Event(`{"error":{"message":` + providertest.Quote(message) + `,"type":"server_error","code":null}}`)
	},
	Broken: map[string]string{
		"event named error": "event: error\ndata: {\"message\":\"overloaded\"}\n\n",
		"no JSON":           openaitest.Event(`<html>`),
	},
	TooLong: map[string]string{
		"code": `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.",` +
			`"type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`,
		"llama.cpp": `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it",` +
			`"type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}`,
		"vLLM": `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 9000 tokens ` +
			`in the messages. Please reduce the length of the messages.","type":"BadRequestError","param":null,"code":400}`,
	},
	TooLongEvents: map[string]string{
		"code": openaitest.Event(`{"error":{"message":"Too long.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`),
	},
}

func TestAdapter(t *testing.T) {
	// What the environment says is for the programs that read it, not for the SDK.
	t.Setenv("OPENAI_API_KEY", "sk-of-the-environment")
	adapter.Run(t)
}

func TestTheNameIsThatOfProviderAndModel(t *testing.T) {
	o, err := openai.New(openai.Config{Model: "gpt-5", APIKey: adaptertest.Key})
	require.NoError(t, err)
	require.Equal(t, "openai:gpt-5", o.Name())
}
