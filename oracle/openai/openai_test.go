package openai_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/oracle"
	"agenthost/oracle/openai"
	"agenthost/oracle/openai/openaitest"
	"agenthost/sessions"
)

const key = "sk-secret-1234"

// configured returns an oracle of server that pauses briefly before retries.
func configured(t *testing.T, server *openaitest.Server, change func(*openai.Config)) *openai.Oracle {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c := openai.Config{
		Model: "m", APIKey: key, BaseURL: server.BaseURL(), RetryPause: time.Millisecond,
		HTTPClient: &http.Client{Transport: transport},
	}
	if change != nil {
		change(&c)
	}
	o, err := openai.New(c)
	require.NoError(t, err)
	return o
}

// answered is an answer put together from its parts.
type answered struct {
	text  string
	calls []oracle.ToolCall
	usage *sessions.Usage
	stop  oracle.StopReason
	err   error
}

func infer(ctx context.Context, o oracle.Oracle, r oracle.Request) answered {
	var a answered
	for part, err := range o.Infer(ctx, r) {
		switch part := part.(type) {
		case oracle.TextDelta:
			a.text += part.Text
		case oracle.ToolCall:
			a.calls = append(a.calls, part)
		case oracle.UsageReport:
			a.usage = &part.Usage
		case oracle.Stop:
			a.stop = part.Reason
		}
		a.err = err
	}
	return a
}

// ask sends "hi" to a server that plays script.
func ask(t *testing.T, script ...openaitest.Reply) (answered, *openaitest.Server) {
	t.Helper()
	server := openaitest.New(t, script...)
	return infer(t.Context(), configured(t, server, nil), hi()), server
}

func hi() oracle.Request {
	return oracle.Request{Messages: []sessions.Message{{Role: sessions.RoleUser, Content: sessions.Text("hi")}}}
}

// requireFailure requires that a failed and that its message is ours alone.
func requireFailure(t *testing.T, a answered, providerText string) {
	t.Helper()
	require.Equal(t, sessions.CodeLLMAPIFailure, sessions.CodeOf(a.err))
	e := sessions.AsError(a.err)
	shown, err := json.Marshal(e.Info())
	require.NoError(t, err)
	require.NotContains(t, e.Error(), key)
	if providerText != "" {
		require.NotContains(t, string(shown), providerText)
		require.ErrorContains(t, e.Cause, providerText)
	}
	require.Empty(t, a.stop)
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	for field, c := range map[string]openai.Config{
		"/model":   {APIKey: key},
		"/apiKey":  {Model: "m"},
		"/baseURL": {Model: "m", BaseURL: "localhost:11434/v1"},
	} {
		_, err := openai.New(c)
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
		require.Equal(t, field, sessions.AsError(err).Details["field"])
	}
	o, err := openai.New(openai.Config{Model: "gpt-5", APIKey: key})
	require.NoError(t, err)
	require.Equal(t, "openai:gpt-5", o.Name())
	o, err = openai.New(openai.Config{Model: "m", BaseURL: "http://127.0.0.1:1/v1", Name: "mine"})
	require.NoError(t, err)
	require.Equal(t, "mine", o.Name())
}

func TestKeyIsSentOnlyIfThereIsOne(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-of-the-environment")
	server := openaitest.New(t, openaitest.Text("a"), openaitest.Text("b"))
	require.NoError(t, infer(t.Context(), configured(t, server, nil), hi()).err)
	keyless := configured(t, server, func(c *openai.Config) { c.APIKey = "" })
	require.NoError(t, infer(t.Context(), keyless, hi()).err)
	require.Equal(t, "Bearer "+key, server.Requests()[0].Header.Get("Authorization"))
	require.Empty(t, server.Requests()[1].Header.Values("Authorization"))
}

func TestTextArrivesAsItIsSent(t *testing.T) {
	gate := make(chan struct{})
	reply := openaitest.Text("Hel", "lo")
	reply.Pieces[2].Gate = gate
	server := openaitest.New(t, reply)
	var parts []oracle.Part
	for part, err := range configured(t, server, nil).Infer(t.Context(), hi()) {
		require.NoError(t, err)
		if len(parts) == 0 {
			close(gate) // only the first delta, already here, lets the second go
		}
		parts = append(parts, part)
	}
	require.Equal(t, []oracle.Part{
		oracle.TextDelta{Text: "Hel"}, oracle.TextDelta{Text: "lo"},
		oracle.UsageReport{Usage: sessions.Usage{InputTokens: 10, OutputTokens: 2, Calls: 1}},
		oracle.Stop{Reason: oracle.StopDone},
	}, parts)
}

func TestBytesMayBeSplitAnywhere(t *testing.T) {
	whole := ""
	for _, p := range openaitest.Text("Grüße", " 🌍").Pieces {
		whole += p.Data
	}
	whole = ": a comment\r\n\r\n" + whole
	var bytewise openaitest.Reply
	for i := range len(whole) {
		bytewise.Pieces = append(bytewise.Pieces, openaitest.Piece{Data: whole[i : i+1]})
	}
	a, _ := ask(t, bytewise)
	require.NoError(t, a.err)
	require.Equal(t, "Grüße 🌍", a.text)
}

func TestCallsAreAssembledAndComeInIndexOrder(t *testing.T) {
	a, _ := ask(t, openaitest.Calls(
		openaitest.Call{ID: "call_a", Name: "builtin__time", Args: `{"zone":"UTC"}`},
		openaitest.Call{ID: "call_b", Name: "builtin__echo", Args: `{"x":[1,2]}`},
	))
	require.NoError(t, a.err)
	require.Equal(t, []oracle.ToolCall{
		{ID: "call_a", Function: "builtin__time", Args: `{"zone":"UTC"}`},
		{ID: "call_b", Function: "builtin__echo", Args: `{"x":[1,2]}`},
	}, a.calls)
	require.Equal(t, oracle.StopCalls, a.stop)

	a, _ = ask(t, openaitest.Stream(
		openaitest.Chunk(`{"tool_calls":[{"index":1,"id":"b","function":{"name":"second","arguments":"{}"}}]}`, ""),
		openaitest.Chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"first","arguments":"{}"}}]}`, "tool_calls"),
		openaitest.Done))
	require.Equal(t, []oracle.ToolCall{{ID: "a", Function: "first", Args: "{}"}, {ID: "b", Function: "second", Args: "{}"}}, a.calls)
}

func TestCallsOfServersThatNumberThemBadly(t *testing.T) {
	want := []oracle.ToolCall{{ID: "a", Function: "x", Args: `{"n":1}`}, {ID: "b", Function: "x", Args: `{"n":2}`}}
	sameIndex, _ := ask(t, openaitest.Stream(
		openaitest.Chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"n\":"}}]}`, ""),
		openaitest.Chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"1}"}}]}`, ""),
		openaitest.Chunk(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"x","arguments":"{\"n\":2}"}}]}`, "stop"), openaitest.Done))
	require.Equal(t, want, sameIndex.calls)
	require.Equal(t, oracle.StopCalls, sameIndex.stop, "calls count more than the reason")
	noIndex, _ := ask(t, openaitest.Stream(
		openaitest.Chunk(`{"tool_calls":[{"id":"a","function":{"name":"x","arguments":"{\"n\":1}"}},{"id":"b","function":{"name":"x","arguments":"{\"n\":2}"}}]}`, "tool_calls"), openaitest.Done))
	require.Equal(t, want, noIndex.calls)
}

func TestMalformedArgumentsAndUnknownToolsArePassedOn(t *testing.T) {
	a, _ := ask(t, openaitest.Calls(openaitest.Call{ID: "1", Name: "no such tool", Args: `{"a":`}))
	require.NoError(t, a.err)
	require.Equal(t, []oracle.ToolCall{{ID: "1", Function: "no such tool", Args: `{"a":`}}, a.calls)
}

func TestMissingAndRepeatedCallIDsAreReplaced(t *testing.T) {
	server := openaitest.New(t, openaitest.Calls(
		openaitest.Call{ID: "old", Name: "x", Args: "{}"}, openaitest.Call{Name: "x", Args: "{}"},
		openaitest.Call{ID: "same", Name: "x", Args: "{}"}, openaitest.Call{ID: "same", Name: "x", Args: "{}"},
	))
	history := []sessions.Message{
		{Role: sessions.RoleUser, Content: sessions.Text("hi")},
		{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "old", Path: "/x"}, {ID: "call-5-2", Path: "/x"}}},
		{Role: sessions.RoleTool, ToolCallID: "old"},
		{Role: sessions.RoleTool, ToolCallID: "call-5-2"},
	}
	a := infer(t.Context(), configured(t, server, nil), oracle.Request{Messages: history})
	require.NoError(t, a.err)
	require.Len(t, a.calls, 4)
	ids := map[sessions.CallID]bool{"old": true, "call-5-2": true}
	for _, c := range a.calls {
		require.NotEmpty(t, c.ID)
		require.False(t, ids[c.ID], "%s", c.ID)
		ids[c.ID] = true
	}
	require.Equal(t, sessions.CallID("same"), a.calls[2].ID)
}

func TestUsageTellsCachedTokens(t *testing.T) {
	a, _ := ask(t, openaitest.Stream(openaitest.Delta("x"), openaitest.Chunk("{}", "stop"), openaitest.Usage(100, 7, 64), openaitest.Done))
	require.Equal(t, &sessions.Usage{InputTokens: 100, OutputTokens: 7, CachedTokens: 64, Calls: 1}, a.usage)
	a, _ = ask(t, openaitest.Stream(openaitest.Delta("x"), openaitest.Chunk("{}", "stop"), openaitest.Done))
	require.Nil(t, a.usage)
	require.Equal(t, oracle.StopDone, a.stop)
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
		a, server := ask(t, c.reply)
		require.NoError(t, a.err, name)
		require.Equal(t, c.text, a.text, name)
		require.Equal(t, c.stop, a.stop, name)
		require.Len(t, server.Requests(), 1, name)
	}
}
