package anthropic_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/oracle"
	"agenthost/oracle/anthropic"
	"agenthost/oracle/anthropic/anthropictest"
	"agenthost/oracle/provider"
	"agenthost/oracle/provider/adaptertest"
)

var adapter = adaptertest.Adapter{
	API:   anthropictest.API,
	New:   func(c provider.Config) (oracle.Oracle, error) { return anthropic.New(c) },
	Text:  anthropictest.Text,
	Calls: anthropictest.Calls,
	Start: []string{anthropictest.Start(1, 0, 0), anthropictest.Ping},
	Say:   func(text string) []string { return []string{anthropictest.TextBlock(0), anthropictest.Delta(0, text)} },
	Call:  func(i int) string { return anthropictest.CallBlock(i, fmt.Sprint("c", i), "x") },
	Args:  anthropictest.ArgsDelta,
	Half:  `data: {"type":"content_bl`,
	Error: func(message string) string { return anthropictest.Error("overloaded_error", message) },
	Broken: map[string]string{
		"event without name": "data: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"m\"}}\n\n",
		"error of no JSON":   "event: error\ndata: overloaded\n\n",
		"no JSON":            anthropictest.Event("content_block_delta", `<html>`),
	},
	TooLong: map[string]string{
		"prompt": `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"},"request_id":"req_1"}`,
		"prompt and answer": `{"type":"error","error":{"type":"invalid_request_error","message":"input length and ` + "`max_tokens`" +
			` exceed context limit: 195000 + 8192 > 200000, decrease input length or ` + "`max_tokens`" + ` and try again"},"request_id":"req_1"}`,
		"bytes": `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"},"request_id":"req_1"}`,
	},
	TooLongEvents: map[string]string{
		"prompt": anthropictest.Error("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"),
	},
}

func TestAdapter(t *testing.T) {
	// What the environment says is for the programs that read it, not for the SDK.
	t.Setenv("ANTHROPIC_API_KEY", "sk-of-the-environment")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "token-of-the-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	adapter.Run(t)
}

func TestTheNameIsThatOfProviderAndModel(t *testing.T) {
	o, err := anthropic.New(anthropic.Config{Model: "claude-haiku-5-5", APIKey: adaptertest.Key})
	require.NoError(t, err)
	require.Equal(t, "anthropic:claude-haiku-5-5", o.Name())
}
