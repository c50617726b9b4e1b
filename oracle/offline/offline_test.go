package offline_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/oracle"
	"agenthost/oracle/offline"
	"agenthost/sessions"
)

// talk is a conversation under construction; seqs count from 1.
type talk []sessions.Message

func (c talk) with(m sessions.Message) talk {
	m.Seq = int64(len(c) + 1)
	return append(c[:len(c):len(c)], m)
}

func (c talk) user(text string) talk {
	return c.with(sessions.Message{Role: sessions.RoleUser, Content: sessions.Text(text)})
}

func (c talk) assistant(text string, calls ...sessions.ToolCall) talk {
	m := sessions.Message{Role: sessions.RoleAssistant, ToolCalls: calls}
	if text != "" {
		m.Content = sessions.Text(text)
	}
	return c.with(m)
}

func (c talk) result(id sessions.CallID, output string) talk {
	value := []sessions.Content{{Type: sessions.ContentJSON, Value: json.RawMessage(output)}}
	return c.with(sessions.Message{Role: sessions.RoleTool, ToolCallID: id, Content: value})
}

func (c talk) failure(id sessions.CallID, code sessions.Code, message string) talk {
	return c.with(sessions.Message{Role: sessions.RoleTool, ToolCallID: id, Error: &sessions.ErrorInfo{Code: code, Message: message}})
}

// called appends the assistant's message that a runner makes of calls.
func (c talk) called(calls []oracle.ToolCall) talk {
	var stored []sessions.ToolCall
	for _, call := range calls {
		stored = append(stored, sessions.ToolCall{ID: call.ID, Path: call.Function, Args: json.RawMessage(call.Args)})
	}
	return c.assistant("", stored...)
}

// answered is an answer put together from its parts.
type answered struct {
	deltas []string
	text   string
	calls  []oracle.ToolCall
	usage  sessions.Usage
	stop   oracle.StopReason
}

func ask(t *testing.T, c talk) answered {
	t.Helper()
	var a answered
	for part, err := range offline.New().Infer(t.Context(), oracle.Request{System: "Be kind.", Messages: c}) {
		require.NoError(t, err)
		require.Empty(t, a.stop, "nothing follows the stop")
		switch part := part.(type) {
		case oracle.TextDelta:
			a.deltas = append(a.deltas, part.Text)
			a.text += part.Text
		case oracle.ToolCall:
			a.calls = append(a.calls, part)
		case oracle.UsageReport:
			a.usage = part.Usage
		case oracle.Stop:
			a.stop = part.Reason
		}
	}
	require.NotEmpty(t, a.stop)
	return a
}

func TestTellsWhatItHeardAndWhatItIs(t *testing.T) {
	a := ask(t, talk{}.user("Good morning to you"))
	require.Contains(t, a.text, "Good morning to you")
	require.Contains(t, a.text, "offline oracle")
	require.Equal(t, oracle.StopDone, a.stop)
	require.Greater(t, len(a.deltas), 3)
	require.LessOrEqual(t, len(a.deltas), 16)
	require.Equal(t, a, ask(t, talk{}.user("Good morning to you")), "same input, same answer")
}

func TestUsageCountsWords(t *testing.T) {
	a := ask(t, talk{}.user("one two three"))
	require.Equal(t, sessions.Usage{InputTokens: 5, OutputTokens: int64(len(strings.Fields(a.text))), Calls: 1}, a.usage)
}

func TestALongMessageIsNotRepeatedWhole(t *testing.T) {
	a := ask(t, talk{}.user(strings.Repeat("wörd ", 10_000)))
	require.Less(t, len(a.text), 1000)
	require.LessOrEqual(t, len(a.deltas), 16)
}

func TestAnswersFromTheConversation(t *testing.T) {
	past := talk{}.user("My name is Ada").assistant("Hello Ada").user("I like tea").assistant("So do I")
	for question, want := range map[string]string{
		"What did I say?":                      "You said: I like tea",
		"what did you say":                     "I said: So do I",
		"What did I say first?":                "You said: My name is Ada",
		"What was my first message?":           "You said: My name is Ada",
		"what was your last answer":            "I said: So do I",
		"What was the first reply?":            "I said: Hello Ada",
		"What did I tell you about my name?":   "You said: My name is Ada",
		"What did you say when I greeted you?": "I said: So do I",
		"What did I say about coffee?":         "You said nothing about coffee.",
		"How many messages are there?":         "There are 5 messages: 3 from you, 2 from me, 0 tool results.",
		"List what was said":                   "1. you: My name is Ada\n2. I: Hello Ada\n3. you: I like tea\n4. I: So do I",
	} {
		require.Equal(t, want, ask(t, past.user(question)).text, question)
	}
	require.Equal(t, "You have said nothing before.", ask(t, talk{}.user("What did I say?")).text)
	require.Equal(t, "Nothing was said before.", ask(t, talk{}.user("list the messages")).text)
}

func TestAnswersWithoutAnyText(t *testing.T) {
	require.Contains(t, ask(t, nil).text, "Nobody has asked")
	image := sessions.Message{Role: sessions.RoleUser, Content: []sessions.Content{{Type: sessions.ContentImage, URL: "https://example.com/a.png"}}}
	require.Contains(t, ask(t, talk{}.with(image)).text, "(an image)")
}

func TestCallsToolsWhenToldTo(t *testing.T) {
	c := talk{}.user("Please\n/call builtin/time {}\n  /call /builtin/echo {\"a\": [1, 2]}\n/call builtin/time\nthanks, not a /call x {}")
	a := ask(t, c)
	require.Equal(t, []oracle.ToolCall{
		{ID: "call-1-1", Function: "/builtin/time", Args: "{}"},
		{ID: "call-1-2", Function: "/builtin/echo", Args: `{"a": [1, 2]}`},
		{ID: "call-1-3", Function: "/builtin/time", Args: "{}"},
	}, a.calls)
	require.Equal(t, oracle.StopCalls, a.stop)
	require.Empty(t, a.text)
}

func TestReportsResultsInCallOrder(t *testing.T) {
	c := talk{}.user("/call builtin/time {}\n/call builtin/echo {\"a\":1}")
	calls := ask(t, c).calls
	c = c.called(calls).failure(calls[0].ID, sessions.CodeToolInvokeFailed, "It broke.").result(calls[1].ID, `{"a":1}`)
	a := ask(t, c)
	require.Equal(t, "/builtin/time failed with TOOL_INVOKE_FAILED: It broke.\n/builtin/echo answered {\"a\":1}", a.text)
	require.Empty(t, a.calls, "the same message never calls twice")
	require.Equal(t, oracle.StopDone, a.stop)

	again := ask(t, c.assistant(a.text).user("/call builtin/time {}"))
	require.Len(t, again.calls, 1)
	require.Equal(t, sessions.CallID("call-6-1"), again.calls[0].ID)
}

func TestCallsAgainAfterAnAnswerCutShort(t *testing.T) {
	c := talk{}.user("/call builtin/time {}").assistant("I am")
	require.Len(t, ask(t, c).calls, 1)
}

func TestCallIDsStepAsideForThoseInTheHistory(t *testing.T) {
	c := talk{}.assistant("", sessions.ToolCall{ID: "call-3-1", Path: "/x", Args: json.RawMessage("{}")}).result("call-3-1", "1")
	calls := ask(t, c.user("/call x {}\n/call y {}")).calls
	require.Equal(t, sessions.CallID("call-3-2"), calls[0].ID)
	require.Equal(t, sessions.CallID("call-3-3"), calls[1].ID)
}

func TestExplainsCallsItCannotRead(t *testing.T) {
	for _, line := range []string{"/call", "/call {}", "/call x {", "/call x [1]", "/call x true", "/call ok {}\n/call x {} y"} {
		a := ask(t, talk{}.user(line))
		require.Empty(t, a.calls, line)
		require.Contains(t, a.text, "/call <path> <json object>", line)
		require.Equal(t, oracle.StopDone, a.stop, line)
	}
	require.NotContains(t, ask(t, talk{}.user("/callback is a word")).text, "<path>")
}

func TestEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	for part, err := range offline.New().Infer(ctx, oracle.Request{Messages: talk{}.user("hello there")}) {
		got = append(got, fmt.Sprintf("%T %v", part, err))
		cancel()
	}
	require.Equal(t, []string{"oracle.TextDelta <nil>", "<nil> context canceled"}, got)
}

func TestStopsWhenTheListenerDoes(t *testing.T) {
	n := 0
	for range offline.New().Infer(t.Context(), oracle.Request{Messages: talk{}.user("hello")}) {
		n++
		break
	}
	require.Equal(t, 1, n)
	require.Equal(t, "offline", offline.New().Name())
}
