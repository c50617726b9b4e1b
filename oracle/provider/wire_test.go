package provider_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/oracle"
	"agenthost/oracle/provider"
	"agenthost/sessions"
)

func TestWireIDsAreTakenByEveryAPI(t *testing.T) {
	const form = `^[a-zA-Z0-9_-]{1,40}$`
	require.Equal(t, "call_1-A", provider.WireID("call_1-A"))
	seen := map[string]bool{}
	for _, id := range []sessions.CallID{"", "a b", "é", sessions.CallID(strings.Repeat("a", 41)), sessions.CallID(strings.Repeat("a", 42))} {
		wired := provider.WireID(id)
		require.Regexp(t, form, wired)
		require.Equal(t, wired, provider.WireID(id))
		require.False(t, seen[wired], "%q", id)
		seen[wired] = true
	}
}

func TestSchemasKeepWhatTheySay(t *testing.T) {
	write := func(schema string) string {
		fields, err := provider.Schema(oracle.Tool{Path: "/x", Schema: json.RawMessage(schema)})
		require.NoError(t, err)
		written, err := json.Marshal(fields)
		require.NoError(t, err)
		return string(written)
	}
	require.Equal(t, `{"properties":{},"type":"object"}`, write(``))
	require.Equal(t, `{"properties":{},"type":"object"}`, write(`null`))
	require.Equal(t, `{"properties":{"n":{"maximum":9007199254740993}},"required":["n"],"type":"object"}`,
		write(`{"required": ["n"], "type": "object", "properties": {"n": {"maximum": 9007199254740993}}}`))
	for _, bad := range []string{`[]`, `{`, `"x"`} {
		_, err := provider.Schema(oracle.Tool{Path: "/x", Schema: json.RawMessage(bad)})
		require.ErrorContains(t, err, "/x")
	}
}

func TestTextStandsForWhatIsNone(t *testing.T) {
	content := []sessions.Content{
		{Type: sessions.ContentText, Text: "a"}, {Type: sessions.ContentImage, URL: "https://x"},
		{Type: sessions.ContentJSON, Value: json.RawMessage(`{"b": 1}`)},
	}
	require.Equal(t, `a[image]{"b": 1}`, provider.PlainText(content))
	require.Equal(t, `a[image]{"b": 1}`, provider.ResultText(sessions.Message{Content: content}))
	failed := sessions.Message{Content: content, Error: &sessions.ErrorInfo{Code: sessions.CodeToolInvokeFailed, Message: "It broke."}}
	require.Equal(t, "Error TOOL_INVOKE_FAILED: It broke.", provider.ResultText(failed))
	require.JSONEq(t, `{}`, string(provider.CallArgs(sessions.ToolCall{})))
}
