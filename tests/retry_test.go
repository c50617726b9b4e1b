package tests

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
)

// Field case 11: a model call fails once. The same request has the stored
// failure; a retry has the answer, and the prompt is in the history once.
func TestCase11RetryAfterAFailedModelCall(t *testing.T) {
	var b *bench
	options := func() hosttest.Options {
		b = newBench()
		b.oracle = scripted.Strict(scripted.New(scripted.Step{Fail: "overloaded"}, scripted.Step{Text: "done", Repeat: true}))
		return b.options(t, host.Profile{})
	}
	throughEveryDoor(t, options, func(h *hosttest.Host, call caller) {
		t := call.t
		failed := func() *sessions.ErrorInfo {
			reply := call.call(api.OpPrompt, work())
			require.Equal(t, sessions.CodeLLMAPIFailure, hosttest.Code(reply))
			return reply.Error
		}
		first := failed()
		require.Nil(t, first.Details["duplicate"])
		again := failed()
		require.Equal(t, true, again.Details["duplicate"])
		require.Equal(t, first.Details["turnId"], again.Details["turnId"])
		require.Len(t, b.oracle.Requests(), 1)

		retry := api.RetryArgs{Address: atK, RequestID: "r2"}
		result := hosttest.Result[api.PromptResult](t, call.call(api.OpRetry, retry))
		require.Equal(t, "done", sessions.TextOf(result.Message.Content))
		repeated := hosttest.Result[api.PromptResult](t, call.call(api.OpRetry, retry))
		require.True(t, repeated.Duplicate)
		sameAnswer(t, result, repeated)
		failed() // the failure stays what that request came to
		require.Equal(t, []string{"user: work", "assistant: done"}, transcript(t, h.Client))
		h.Restart()
		require.Equal(t, []string{"user: work", "assistant: done"}, transcript(t, h.Client))
	})
}

// Field case 12: of three calls two have finished when the turn is cancelled.
// Their results stay, also after a restart.
func TestCase12CancelAfterTwoOfThreeCalls(t *testing.T) {
	var b *bench
	options := func() hosttest.Options {
		step := calls(tools.EchoPath, waitPath, tools.EchoPath)
		step.Calls[0].Args, step.Calls[2].Args = `{"text":"one"}`, `{"text":"three"}`
		b = newBench(when("work", step))
		return b.options(t, host.Profile{})
	}
	throughEveryDoor(t, options, func(h *hosttest.Host, call caller) {
		t := call.t
		running := background(func() (*api.PromptResult, error) { return h.Client.Prompt(t.Context(), work(), nil) })
		<-b.began
		require.Eventually(t, func() bool { return len(kept(t, h)) == 2 }, hosttest.Patience, eventTick)
		require.True(t, hosttest.Result[api.CancelResult](t, call.call(api.OpCancel, api.CancelArgs{Address: atK})).Cancelled)
		require.Equal(t, sessions.CodeCancelled, sessions.CodeOf((<-running).err))

		requireTwoResults := func() {
			t.Helper()
			page, err := h.Client.Messages(t.Context(), api.MessagesArgs{Address: atK})
			require.NoError(t, err)
			require.Len(t, page.Messages, 5)
			results := page.Messages[2:]
			require.JSONEq(t, `"one"`, string(results[0].Content[0].Value))
			require.Equal(t, sessions.CodeCancelled, results[1].Error.Code)
			require.JSONEq(t, `"three"`, string(results[2].Content[0].Value))
			require.NoError(t, sessions.CheckPairing("", page.Messages))
		}
		requireTwoResults()
		h.Restart()
		requireTwoResults()
		require.Equal(t, "fine", call.mustPrompt("k", "and now?"), "a strict model takes the history")
	})
}

// kept returns the results that are kept as frames so far.
func kept(t *testing.T, h *hosttest.Host) (results []sessions.CallEnded) {
	t.Helper()
	page, err := h.Client.Frames(t.Context(), api.FramesArgs{Address: atK})
	require.NoError(t, err)
	for _, f := range page.Frames {
		if ended, ok := f.Body.(sessions.CallEnded); ok {
			results = append(results, ended)
		}
	}
	return results
}
