package anthropic_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/oracle"
	"agenthost/oracle/anthropic"
	"agenthost/oracle/anthropic/anthropictest"
	"agenthost/sessions"
)

const key = "sk-ant-secret-1234"

// configured returns an oracle of server that pauses briefly before retries.
func configured(t *testing.T, server *anthropictest.Server, change func(*anthropic.Config)) *anthropic.Oracle {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c := anthropic.Config{
		Model: "m", APIKey: key, BaseURL: server.BaseURL(), RetryPause: time.Millisecond,
		HTTPClient: &http.Client{Transport: transport},
	}
	if change != nil {
		change(&c)
	}
	o, err := anthropic.New(c)
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
func ask(t *testing.T, script ...anthropictest.Reply) (answered, *anthropictest.Server) {
	t.Helper()
	server := anthropictest.New(t, script...)
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
	for field, c := range map[string]anthropic.Config{
		"/model":   {APIKey: key},
		"/apiKey":  {Model: "m"},
		"/baseURL": {Model: "m", BaseURL: "localhost:8080"},
	} {
		_, err := anthropic.New(c)
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
		require.Equal(t, field, sessions.AsError(err).Details["field"])
	}
	o, err := anthropic.New(anthropic.Config{Model: "claude-haiku-5-5", APIKey: key})
	require.NoError(t, err)
	require.Equal(t, "anthropic:claude-haiku-5-5", o.Name())
	o, err = anthropic.New(anthropic.Config{Model: "m", BaseURL: "http://127.0.0.1:1", Name: "mine"})
	require.NoError(t, err)
	require.Equal(t, "mine", o.Name())
}

// What the environment says is for the programs that read it, not for the SDK.
func TestKeyIsSentOnlyIfThereIsOne(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-of-the-environment")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "token-of-the-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	server := anthropictest.New(t, anthropictest.Text("a"), anthropictest.Text("b"))
	require.NoError(t, infer(t.Context(), configured(t, server, nil), hi()).err)
	keyless := configured(t, server, func(c *anthropic.Config) { c.APIKey = "" })
	require.NoError(t, infer(t.Context(), keyless, hi()).err)
	with, without := server.Requests()[0].Header, server.Requests()[1].Header
	require.Equal(t, "Bearer "+key, with.Get("Authorization"))
	require.Empty(t, without.Values("Authorization"))
	require.Empty(t, without.Values("X-Api-Key"))
	require.NotEmpty(t, without.Get("Anthropic-Version"))
}

func TestTextArrivesAsItIsSent(t *testing.T) {
	gate := make(chan struct{})
	reply := anthropictest.Text("Hel", "lo")
	reply.Pieces[4].Gate = gate // after the start, the block, a ping and the first delta
	server := anthropictest.New(t, reply)
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
	for _, p := range anthropictest.Text("Grüße", " 🌍").Pieces {
		whole += p.Data
	}
	whole = ": a comment\r\n\r\n" + whole
	var bytewise anthropictest.Reply
	for i := range len(whole) {
		bytewise.Pieces = append(bytewise.Pieces, anthropictest.Piece{Data: whole[i : i+1]})
	}
	a, _ := ask(t, bytewise)
	require.NoError(t, a.err)
	require.Equal(t, "Grüße 🌍", a.text)
}

func TestCallsAreAssembledAndComeInIndexOrder(t *testing.T) {
	a, _ := ask(t, anthropictest.Calls(
		anthropictest.Call{ID: "toolu_a", Name: "builtin__time", Args: `{"zone":"UTC"}`},
		anthropictest.Call{ID: "toolu_b", Name: "builtin__echo", Args: `{"x":[1,2]}`},
	))
	require.NoError(t, a.err)
	require.Equal(t, []oracle.ToolCall{
		{ID: "toolu_a", Function: "builtin__time", Args: `{"zone":"UTC"}`},
		{ID: "toolu_b", Function: "builtin__echo", Args: `{"x":[1,2]}`},
	}, a.calls)
	require.Equal(t, oracle.StopCalls, a.stop)

	a, _ = ask(t, anthropictest.Stream(anthropictest.Start(1, 0, 0), anthropictest.TextBlock(0), anthropictest.Delta(0, "Let me see."),
		anthropictest.CallBlock(2, "b", "second"), anthropictest.ArgsDelta(2, "{}"),
		anthropictest.CallBlock(1, "a", "first"), anthropictest.ArgsDelta(1, "{}"), anthropictest.End("tool_use", 1), anthropictest.Stop))
	require.Equal(t, "Let me see.", a.text)
	require.Equal(t, []oracle.ToolCall{{ID: "a", Function: "first", Args: "{}"}, {ID: "b", Function: "second", Args: "{}"}}, a.calls)
}

func TestCallsOfServersThatDoItOtherwise(t *testing.T) {
	atOnce, _ := ask(t, anthropictest.Stream(
		anthropictest.Block(0, `{"type":"tool_use","id":"a","name":"x","input":{"n":1}}`),
		anthropictest.Block(0, `{"type":"tool_use","id":"b","name":"x","input":{}}`), anthropictest.ArgsDelta(0, `{"n":2}`),
		anthropictest.End("end_turn", 1), anthropictest.Stop))
	require.Equal(t, []oracle.ToolCall{{ID: "a", Function: "x", Args: `{"n":1}`}, {ID: "b", Function: "x", Args: `{"n":2}`}}, atOnce.calls)
	require.Equal(t, oracle.StopCalls, atOnce.stop, "calls count more than the reason")
	none, _ := ask(t, anthropictest.Stream(anthropictest.CallBlock(0, "a", "x"), anthropictest.End("tool_use", 1), anthropictest.Stop))
	require.Equal(t, []oracle.ToolCall{{ID: "a", Function: "x"}}, none.calls)
}

func TestThoughtsAndOtherBlocksAreNoPartOfTheAnswer(t *testing.T) {
	a, _ := ask(t, anthropictest.Stream(anthropictest.Start(1, 0, 0),
		anthropictest.Block(0, `{"type":"thinking","thinking":"","signature":""}`), anthropictest.ThoughtDelta(0, "Hm."), anthropictest.BlockStop(0),
		anthropictest.Block(1, `{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`), anthropictest.ArgsDelta(1, "{}"),
		anthropictest.Event("news", `{"type":"of_tomorrow","index":1}`),
		anthropictest.TextBlock(2), anthropictest.Delta(2, "Yes."), anthropictest.End("end_turn", 3), anthropictest.Stop))
	require.NoError(t, a.err)
	require.Equal(t, "Yes.", a.text)
	require.Empty(t, a.calls)
}

func TestMalformedArgumentsAndUnknownToolsArePassedOn(t *testing.T) {
	a, _ := ask(t, anthropictest.Calls(anthropictest.Call{ID: "1", Name: "no such tool", Args: `{"a":`}))
	require.NoError(t, a.err)
	require.Equal(t, []oracle.ToolCall{{ID: "1", Function: "no such tool", Args: `{"a":`}}, a.calls)
}

func TestMissingAndRepeatedCallIDsAreReplaced(t *testing.T) {
	server := anthropictest.New(t, anthropictest.Calls(
		anthropictest.Call{ID: "old", Name: "x", Args: "{}"}, anthropictest.Call{Name: "x", Args: "{}"},
		anthropictest.Call{ID: "same", Name: "x", Args: "{}"}, anthropictest.Call{ID: "same", Name: "x", Args: "{}"},
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

func TestUsageCountsWhatTheCacheServedAndTook(t *testing.T) {
	body := []string{anthropictest.TextBlock(0), anthropictest.Delta(0, "x")}
	a, _ := ask(t, anthropictest.Stream(append([]string{anthropictest.Start(30, 6, 64)},
		append(body, anthropictest.End("end_turn", 7), anthropictest.Stop)...)...))
	require.Equal(t, &sessions.Usage{InputTokens: 100, OutputTokens: 7, CachedTokens: 64, Calls: 1}, a.usage)

	a, _ = ask(t, anthropictest.Stream(append([]string{anthropictest.Start(1, 0, 0)}, append(body, anthropictest.Event("message_delta",
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":5,"cache_read_input_tokens":4,"output_tokens":9}}`),
		anthropictest.Stop)...)...))
	require.Equal(t, &sessions.Usage{InputTokens: 9, OutputTokens: 9, CachedTokens: 4, Calls: 1}, a.usage, "the last sums count")

	a, _ = ask(t, anthropictest.Stream(append(body, anthropictest.Event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`),
		anthropictest.Stop)...))
	require.Nil(t, a.usage)
	require.Equal(t, oracle.StopDone, a.stop)
}

func TestStopReasons(t *testing.T) {
	said := []string{anthropictest.Start(1, 0, 0), anthropictest.TextBlock(0), anthropictest.Delta(0, "some")}
	ended := func(reason string) anthropictest.Reply {
		return anthropictest.Stream(append(said, anthropictest.BlockStop(0), anthropictest.End(reason, 1), anthropictest.Stop)...)
	}
	for name, c := range map[string]struct {
		reply anthropictest.Reply
		text  string
		stop  oracle.StopReason
	}{
		"end":              {ended("end_turn"), "some", oracle.StopDone},
		"stop sequence":    {ended("stop_sequence"), "some", oracle.StopDone},
		"length":           {ended("max_tokens"), "some", oracle.StopLength},
		"context":          {ended("model_context_window_exceeded"), "some", oracle.StopLength},
		"pause":            {ended("pause_turn"), "some", oracle.StopLength},
		"refusal":          {ended("refusal"), "some", oracle.StopRefusal},
		"unheard-of":       {ended("of_tomorrow"), "some", oracle.StopDone},
		"length at once":   {anthropictest.Stream(anthropictest.Start(1, 0, 0), anthropictest.End("max_tokens", 1), anthropictest.Stop), "", oracle.StopLength},
		"refusal at once":  {anthropictest.Stream(anthropictest.Start(1, 0, 0), anthropictest.End("refusal", 1), anthropictest.Stop), "", oracle.StopRefusal},
		"no stop event":    {anthropictest.Stream(append(said, anthropictest.End("end_turn", 1))...), "some", oracle.StopDone},
		"no reason":        {anthropictest.Stream(append(said, anthropictest.Stop)...), "some", oracle.StopDone},
		"text in a start":  {anthropictest.Stream(anthropictest.Block(0, `{"type":"text","text":"some"}`), anthropictest.Stop), "some", oracle.StopDone},
		"events unnamed":   {anthropictest.Stream("data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"some\"}}\n\n", "data: {\"type\":\"message_stop\"}\n\n"), "some", oracle.StopDone},
		"event sans bytes": {anthropictest.Stream(append(said, "event: nothing\n\n", anthropictest.Stop)...), "some", oracle.StopDone},
	} {
		a, server := ask(t, c.reply)
		require.NoError(t, a.err, name)
		require.Equal(t, c.text, a.text, name)
		require.Equal(t, c.stop, a.stop, name)
		require.Len(t, server.Requests(), 1, name)
	}
}
