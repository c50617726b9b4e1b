package openai_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/oracle"
	"agenthost/oracle/openai/openaitest"
	"agenthost/sessions"
)

func TestCallsComeInIndexOrder(t *testing.T) {
	a, _ := adapter.Ask(t, openaitest.Stream(
		openaitest.Chunk(`{"tool_calls":[{"index":1,"id":"b","function":{"name":"second","arguments":"{}"}}]}`, ""),
		openaitest.Chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"first","arguments":"{}"}}]}`, "tool_calls"),
		openaitest.Done))
	require.Equal(t, []oracle.ToolCall{{ID: "a", Function: "first", Args: "{}"}, {ID: "b", Function: "second", Args: "{}"}}, a.Calls)
}

func TestCallsOfServersThatNumberThemBadly(t *testing.T) {
	want := []oracle.ToolCall{{ID: "a", Function: "x", Args: `{"n":1}`}, {ID: "b", Function: "x", Args: `{"n":2}`}}
	sameIndex, _ := adapter.Ask(t, openaitest.Stream(
		openaitest.Chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"n\":"}}]}`, ""),
		openaitest.Chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"1}"}}]}`, ""),
		openaitest.Chunk(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"x","arguments":"{\"n\":2}"}}]}`, "stop"), openaitest.Done))
	require.Equal(t, want, sameIndex.Calls)
	require.Equal(t, oracle.StopCalls, sameIndex.Stop, "calls count more than the reason")
	noIndex, _ := adapter.Ask(t, openaitest.Stream(
		openaitest.Chunk(`{"tool_calls":[{"id":"a","function":{"name":"x","arguments":"{\"n\":1}"}},{"id":"b","function":{"name":"x","arguments":"{\"n\":2}"}}]}`, "tool_calls"), openaitest.Done))
	require.Equal(t, want, noIndex.Calls)
}

func TestUsageTellsCachedTokens(t *testing.T) {
	a, _ := adapter.Ask(t, openaitest.Stream(openaitest.Delta("x"), openaitest.Chunk("{}", "stop"), openaitest.Usage(100, 7, 64), openaitest.Done))
	require.Equal(t, &sessions.Usage{InputTokens: 100, OutputTokens: 7, CachedTokens: 64, Calls: 1}, a.Usage)
	a, _ = adapter.Ask(t, openaitest.Stream(openaitest.Delta("x"), openaitest.Chunk("{}", "stop"), openaitest.Done))
	require.Nil(t, a.Usage)
	require.Equal(t, oracle.StopDone, a.Stop)
}

func TestStopReasons(t *testing.T) {
	for name, c := range map[string]struct {
		reply openaitest.Reply
		text  string
		stop  oracle.StopReason
	}{
		"length":         {openaitest.Stream(openaitest.Delta("cut sho"), openaitest.Chunk("{}", "length"), openaitest.Done), "cut sho", oracle.StopLength},
		"length at once": {openaitest.Stream(openaitest.Chunk("{}", "length"), openaitest.Done), "", oracle.StopLength},
		"filter":         {openaitest.Stream(openaitest.Delta("some"), openaitest.Chunk("{}", "content_filter"), openaitest.Done), "some", oracle.StopRefusal},
		"refusal": {openaitest.Stream(openaitest.Chunk(`{"refusal":"I can"}`, ""), openaitest.Chunk(`{"refusal":"not."}`, ""),
			openaitest.Chunk("{}", "stop"), openaitest.Done), "I cannot.", oracle.StopRefusal},
		"no [DONE]":        {openaitest.Stream(openaitest.Delta("all"), openaitest.Chunk("{}", "stop")), "all", oracle.StopDone},
		"no reason":        {openaitest.Stream(openaitest.Delta("all"), openaitest.Done), "all", oracle.StopDone},
		"null error field": {openaitest.Stream(openaitest.Event(`{"choices":[{"index":0,"delta":{"content":"all"}}],"error":null}`), openaitest.Done), "all", oracle.StopDone},
	} {
		a, server := adapter.Ask(t, c.reply)
		require.NoError(t, a.Err, name)
		require.Equal(t, c.text, a.Text, name)
		require.Equal(t, c.stop, a.Stop, name)
		require.Len(t, server.Requests(), 1, name)
	}
}
