package scripted_test

import (
	"context"
	"encoding/json"
	"regexp"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/oracle"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

func user(text string) sessions.Message {
	return sessions.Message{Role: sessions.RoleUser, Content: sessions.Text(text)}
}

func assistant(text string) sessions.Message {
	return sessions.Message{Role: sessions.RoleAssistant, Content: sessions.Text(text)}
}

func calling(ids ...sessions.CallID) sessions.Message {
	m := sessions.Message{Role: sessions.RoleAssistant}
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, sessions.ToolCall{ID: id, Path: "/x", Args: json.RawMessage("{}")})
	}
	return m
}

func result(id sessions.CallID) sessions.Message {
	return sessions.Message{Role: sessions.RoleTool, ToolCallID: id, Content: sessions.Text("ok")}
}

// infer returns all parts of an answer and the error that ended it.
func infer(ctx context.Context, o oracle.Oracle, history ...sessions.Message) (parts []oracle.Part, err error) {
	for part, e := range o.Infer(ctx, oracle.Request{Messages: history}) {
		if e != nil {
			return parts, e
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// says returns the text of an answer that must not fail.
func says(t *testing.T, o oracle.Oracle, history ...sessions.Message) string {
	t.Helper()
	parts, err := infer(t.Context(), o, history...)
	require.NoError(t, err)
	text := ""
	for _, p := range parts {
		if d, ok := p.(oracle.TextDelta); ok {
			text += d.Text
		}
	}
	return text
}

func TestPlaysEveryFieldOfAStepInOrder(t *testing.T) {
	o := scripted.New(scripted.Step{
		Text:   "a",
		Deltas: []scripted.Delta{{Text: "b"}, {Text: "c"}},
		Calls:  []scripted.Call{{Path: "/x"}, {ID: "mine", Path: "y", Args: "{broken"}},
		Usage:  &sessions.Usage{InputTokens: 3, OutputTokens: 2, CachedTokens: 1},
	})
	parts, err := infer(t.Context(), o, user("hi"))
	require.NoError(t, err)
	require.Equal(t, []oracle.Part{
		oracle.TextDelta{Text: "a"}, oracle.TextDelta{Text: "b"}, oracle.TextDelta{Text: "c"},
		oracle.ToolCall{ID: "call-2-1", Function: "/x", Args: "{}"},
		oracle.ToolCall{ID: "mine", Function: "y", Args: "{broken"},
		oracle.UsageReport{Usage: sessions.Usage{InputTokens: 3, OutputTokens: 2, CachedTokens: 1, Calls: 1}},
		oracle.Stop{Reason: oracle.StopCalls},
	}, parts)
}

func TestStepsAnswerOneCallEach(t *testing.T) {
	o := scripted.New(scripted.Step{Fail: "boom"}, scripted.Step{Text: "one"}, scripted.Step{Stop: oracle.StopLength})
	_, err := infer(t.Context(), o, user("hi"))
	require.Equal(t, sessions.CodeLLMAPIFailure, sessions.CodeOf(err))
	require.NotContains(t, sessions.AsError(err).Message, "boom")
	require.ErrorContains(t, sessions.AsError(err).Cause, "boom")

	require.Equal(t, "one", says(t, o, user("hi")))
	parts, err := infer(t.Context(), o, user("hi"))
	require.NoError(t, err)
	require.Equal(t, []oracle.Part{oracle.Stop{Reason: oracle.StopLength}}, parts)

	_, err = infer(t.Context(), o, user("hi"))
	require.Equal(t, sessions.CodeLLMAPIFailure, sessions.CodeOf(err), "the script is at its end")
}

func TestRepeatGoesOnForEver(t *testing.T) {
	o := scripted.New(scripted.Step{Text: "once"}, scripted.Step{Text: "ever", Repeat: true})
	require.Equal(t, "once", says(t, o))
	for range 5 {
		require.Equal(t, "ever", says(t, o))
	}
}

func TestRulesFindTheirStepInTheHistory(t *testing.T) {
	o := scripted.Play(scripted.Script{
		Rules: []scripted.Rule{
			{When: "time", Steps: []scripted.Step{{Calls: []scripted.Call{{Path: "/time"}}}, {Text: "noon"}}},
			{Regexp: regexp.MustCompile(`^\d+$`), Steps: []scripted.Step{{Text: "a number", Repeat: true}}},
		},
		Steps: []scripted.Step{{Text: "other"}},
	})
	ask := []sessions.Message{user("12"), assistant("a number"), user("what time is it?")}
	parts, err := infer(t.Context(), o, ask...)
	require.NoError(t, err)
	require.Equal(t, oracle.ToolCall{ID: "call-4-1", Function: "/time", Args: "{}"}, parts[0])

	done := append(ask, calling("call-4-1"), result("call-4-1"))
	for range 3 {
		require.Equal(t, "noon", says(t, o, done...), "the same history has the same answer")
	}
	require.Equal(t, "a number", says(t, o, append(done, assistant("noon"), user("77"))...))
	require.Equal(t, "other", says(t, o, user("hello")))
	_, err = infer(t.Context(), o, append(done, assistant("noon"))...)
	require.Equal(t, sessions.CodeLLMAPIFailure, sessions.CodeOf(err))
}

func TestARuleRepeatsTheStepWhoseAnswerWasCut(t *testing.T) {
	o := scripted.Play(scripted.Script{Rules: []scripted.Rule{{Steps: []scripted.Step{{Text: "first"}, {Text: "second"}}}}})
	cut := assistant("fir")
	cut.Interrupted = true
	require.Equal(t, "first", says(t, o, user("hi"), cut))
	require.Equal(t, "second", says(t, o, user("hi"), assistant("first")))
}

func TestDelaysPassInTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := scripted.New(scripted.Step{Delay: time.Second, Text: "a", Deltas: []scripted.Delta{{After: time.Minute, Text: "b"}}})
		start := time.Now()
		var at []time.Duration
		for _, err := range o.Infer(t.Context(), oracle.Request{}) {
			require.NoError(t, err)
			at = append(at, time.Since(start))
		}
		require.Equal(t, []time.Duration{time.Second, 61 * time.Second, 61 * time.Second}, at)
	})
}

func TestEveryWaitEndsWithTheContext(t *testing.T) {
	for name, step := range map[string]func() scripted.Step{
		"delay": func() scripted.Step { return scripted.Step{Delay: time.Hour} },
		"gate":  func() scripted.Step { return scripted.Step{Gate: make(chan struct{})} },
		"delta": func() scripted.Step { return scripted.Step{Deltas: []scripted.Delta{{After: time.Hour, Text: "x"}}} },
		"hang":  func() scripted.Step { return scripted.Step{Hang: true} },
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			parts, err := infer(ctx, scripted.New(step()))
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			require.Empty(t, parts, name)
		})
	}
}

func TestFailsInMidStream(t *testing.T) {
	parts, err := infer(t.Context(), scripted.New(scripted.Step{Text: "I can", Fail: "cut"}))
	require.Equal(t, []oracle.Part{oracle.TextDelta{Text: "I can"}}, parts)
	require.Equal(t, sessions.CodeLLMAPIFailure, sessions.CodeOf(err))
}

func TestAGateHoldsTheAnswerUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		o := scripted.New(scripted.Step{Gate: gate, Text: "open"})
		var got string
		var wg sync.WaitGroup
		wg.Go(func() { got = says(t, o) })
		synctest.Wait()
		require.Empty(t, got)
		close(gate)
		wg.Wait()
		require.Equal(t, "open", got)
	})
}

func TestNothingComesAfterTheListenerLeft(t *testing.T) {
	n := 0
	for range scripted.New(scripted.Step{Text: "a", Fail: "b"}).Infer(t.Context(), oracle.Request{}) {
		n++
		break
	}
	require.Equal(t, 1, n)
}
