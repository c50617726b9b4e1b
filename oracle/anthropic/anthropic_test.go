package anthropic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/oracle"
	"agenthost/oracle/anthropic/anthropictest"
	"agenthost/sessions"
)

func TestTheVersionIsSentAndNoOtherKey(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-of-the-environment")
	got, server := adapter.Ask(t, anthropictest.Text("a"))
	require.NoError(t, got.Err)
	require.Empty(t, server.Requests()[0].Header.Values("X-Api-Key"))
	require.NotEmpty(t, server.Requests()[0].Header.Get("Anthropic-Version"))
}

func TestCallsComeInIndexOrder(t *testing.T) {
	a, _ := adapter.Ask(t, anthropictest.Stream(anthropictest.Start(1, 0, 0), anthropictest.TextBlock(0), anthropictest.Delta(0, "Let me see."),
		anthropictest.CallBlock(2, "b", "second"), anthropictest.ArgsDelta(2, "{}"),
		anthropictest.CallBlock(1, "a", "first"), anthropictest.ArgsDelta(1, "{}"), anthropictest.End("tool_use", 1), anthropictest.Stop))
	require.Equal(t, "Let me see.", a.Text)
	require.Equal(t, []oracle.ToolCall{{ID: "a", Function: "first", Args: "{}"}, {ID: "b", Function: "second", Args: "{}"}}, a.Calls)
}

func TestCallsOfServersThatDoItOtherwise(t *testing.T) {
	atOnce, _ := adapter.Ask(t, anthropictest.Stream(
		anthropictest.Block(0, `{"type":"tool_use","id":"a","name":"x","input":{"n":1}}`),
		anthropictest.Block(0, `{"type":"tool_use","id":"b","name":"x","input":{}}`), anthropictest.ArgsDelta(0, `{"n":2}`),
		anthropictest.End("end_turn", 1), anthropictest.Stop))
	require.Equal(t, []oracle.ToolCall{{ID: "a", Function: "x", Args: `{"n":1}`}, {ID: "b", Function: "x", Args: `{"n":2}`}}, atOnce.Calls)
	require.Equal(t, oracle.StopCalls, atOnce.Stop, "calls count more than the reason")
	none, _ := adapter.Ask(t, anthropictest.Stream(anthropictest.CallBlock(0, "a", "x"), anthropictest.End("tool_use", 1), anthropictest.Stop))
	require.Equal(t, []oracle.ToolCall{{ID: "a", Function: "x"}}, none.Calls)
}

func TestThoughtsAndOtherBlocksAreNoPartOfTheAnswer(t *testing.T) {
	a, _ := adapter.Ask(t, anthropictest.Stream(anthropictest.Start(1, 0, 0),
		anthropictest.Block(0, `{"type":"thinking","thinking":"","signature":""}`), anthropictest.ThoughtDelta(0, "Hm."), anthropictest.BlockStop(0),
		anthropictest.Block(1, `{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`), anthropictest.ArgsDelta(1, "{}"),
		anthropictest.Event("news", `{"type":"of_tomorrow","index":1}`),
		anthropictest.TextBlock(2), anthropictest.Delta(2, "Yes."), anthropictest.End("end_turn", 3), anthropictest.Stop))
	require.NoError(t, a.Err)
	require.Equal(t, "Yes.", a.Text)
	require.Empty(t, a.Calls)
}

func TestUsageCountsWhatTheCacheServedAndTook(t *testing.T) {
	body := []string{anthropictest.TextBlock(0), anthropictest.Delta(0, "x")}
	a, _ := adapter.Ask(t, anthropictest.Stream(append([]string{anthropictest.Start(30, 6, 64)},
		append(body, anthropictest.End("end_turn", 7), anthropictest.Stop)...)...))
	require.Equal(t, &sessions.Usage{InputTokens: 100, OutputTokens: 7, CachedTokens: 64, Calls: 1}, a.Usage)

	a, _ = adapter.Ask(t, anthropictest.Stream(append([]string{anthropictest.Start(1, 0, 0)}, append(body, anthropictest.Event("message_delta",
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":5,"cache_read_input_tokens":4,"output_tokens":9}}`),
		anthropictest.Stop)...)...))
	require.Equal(t, &sessions.Usage{InputTokens: 9, OutputTokens: 9, CachedTokens: 4, Calls: 1}, a.Usage, "the last sums count")

	a, _ = adapter.Ask(t, anthropictest.Stream(append(body, anthropictest.Event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`),
		anthropictest.Stop)...))
	require.Nil(t, a.Usage)
	require.Equal(t, oracle.StopDone, a.Stop)
}

func TestAFullContextWithoutTextIsAnOverflow(t *testing.T) {
	for name, events := range map[string][]string{
		"at once": nil,
		"in the thoughts": {anthropictest.Block(0, `{"type":"thinking","thinking":"","signature":""}`),
			anthropictest.ThoughtDelta(0, "Hm."), anthropictest.BlockStop(0)},
		"in a call": {anthropictest.CallBlock(0, "a", "x"), anthropictest.ArgsDelta(0, `{"n":`), anthropictest.BlockStop(0)},
	} {
		events = append(append([]string{anthropictest.Start(1, 0, 0)}, events...), anthropictest.End("model_context_window_exceeded", 1), anthropictest.Stop)
		a, server := adapter.Ask(t, anthropictest.Stream(events...))
		require.ErrorIs(t, a.Err, oracle.ErrOverflow, name)
		require.Empty(t, a.Calls, name)
		require.Len(t, server.Requests(), 1, name)
	}
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
		a, server := adapter.Ask(t, c.reply)
		require.NoError(t, a.Err, name)
		require.Equal(t, c.text, a.Text, name)
		require.Equal(t, c.stop, a.Stop, name)
		require.Len(t, server.Requests(), 1, name)
	}
}
