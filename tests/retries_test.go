package tests

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// workBench answers prompts with "work" by one call of the waiting tool, then
// "done".
func workBench() *bench {
	return newBench(when("work", calls(waitPath), scripted.Step{Text: "done"}))
}

// work is the prompt for it under request id r1.
func work() api.PromptArgs {
	return api.PromptArgs{Address: api.Address{TargetKey: "k"}, Text: "work", RequestID: "r1"}
}

// inMidTurn runs a test through each door of a host whose turn of work waits in its
// tool. The prompt's outcome comes by running.
func inMidTurn(t *testing.T, test func(h *hosttest.Host, b *bench, call caller, running <-chan outcome[*api.PromptResult])) {
	t.Helper()
	var b *bench
	options := func() hosttest.Options {
		b = workBench()
		return b.options(t, host.Profile{})
	}
	throughEveryDoor(t, options, func(h *hosttest.Host, call caller) {
		running := background(func() (*api.PromptResult, error) { return h.Client.Prompt(call.t.Context(), work(), nil) })
		<-b.began
		test(h, b, call, running)
	})
}

// turnsOf lists the turns of the key "k".
func turnsOf(t *testing.T, h *hosttest.Host) []sessions.Turn {
	t.Helper()
	page, err := h.Turns(t.Context(), &api.TurnsArgs{Address: api.Address{TargetKey: "k"}})
	require.NoError(t, err)
	return page.Turns
}

// sameAnswer requires that two results tell of the same end of the same turn.
func sameAnswer(t *testing.T, want, have api.PromptResult) {
	t.Helper()
	want.Duplicate, have.Duplicate = false, false
	require.Equal(t, want, have)
}

func TestCase01RetryAfterTheConnectionIsCut(t *testing.T) {
	b := workBench()
	h := hosttest.New(t, b.options(t, host.Profile{}))
	first := h.Socket()
	first.Request(api.OpPrompt, work())
	<-b.began // the host has read it, and more
	first.Cut()

	second := h.Socket()
	id := second.Request(api.OpPrompt, work())
	b.release <- struct{}{}
	_, reply := second.Reply(id)
	result := hosttest.Result[api.PromptResult](t, reply)
	require.True(t, result.Duplicate)
	require.Equal(t, "done", sessions.TextOf(result.Message.Content))
	require.Len(t, turnsOf(t, h), 1)
	require.Len(t, b.oracle.Requests(), 2)

	third := hosttest.Result[api.PromptResult](t, h.Socket().Call(api.OpPrompt, work()))
	sameAnswer(t, result, third)
}

func TestCase02RetryWhileAToolSleeps(t *testing.T) {
	b := workBench()
	h := hosttest.New(t, b.options(t, host.Profile{}))
	ask := func() (*api.PromptResult, error) { return h.Client.Prompt(t.Context(), work(), nil) }
	first := background(ask)
	<-b.began
	second := background(ask)
	// A third is answered at once: it joins the turn that the tool holds up.
	joined, err := h.Prompt(t.Context(), &api.PromptArgs{
		Address: work().Address, Text: "work", RequestID: "r1", Wait: api.WaitAccepted}, nil)
	require.NoError(t, err)
	require.True(t, joined.Duplicate)
	close(b.release)
	one, two := <-first, <-second
	require.NoError(t, one.err)
	require.NoError(t, two.err)
	sameAnswer(t, *one.value, *two.value)
	require.False(t, one.value.Duplicate)
	require.True(t, two.value.Duplicate)
	require.Len(t, turnsOf(t, h), 1)
	require.Equal(t, "fine", caller{t, httpDoor(t, h)}.mustPrompt("k", "now a normal one"))
}

func TestCase03ManyIdenticalRequestsAtOnce(t *testing.T) {
	throughEveryDoor(t, func() hosttest.Options { return hosttest.Options{} }, func(h *hosttest.Host, call caller) {
		t := call.t
		args := api.PromptArgs{Address: api.Address{TargetKey: "k"}, Text: "hello", RequestID: "r1"}
		results := atOnce(50, func(int) outcome[*api.PromptResult] {
			value, err := h.Client.Prompt(t.Context(), args, nil)
			return outcome[*api.PromptResult]{value, err}
		})
		originals := 0
		for _, r := range results {
			require.NoError(t, r.err)
			sameAnswer(t, *results[0].value, *r.value)
			if !r.value.Duplicate {
				originals++
			}
		}
		require.Equal(t, 1, originals)
		require.Len(t, turnsOf(t, h), 1)
		list, err := h.SessionList(t.Context(), &api.SessionListArgs{})
		require.NoError(t, err)
		require.Len(t, list.Sessions, 1)

		for _, other := range []api.PromptArgs{
			{Address: args.Address, Text: "another", RequestID: "r1"},
			{Address: api.Address{TargetKey: "elsewhere"}, Text: "hello", RequestID: "r1"},
		} {
			reply := call.call(api.OpPrompt, other)
			require.Equal(t, sessions.CodeRequestConflict, hosttest.Code(reply))
		}
		reply := call.call(api.OpPrompt, api.PromptArgs{
			Address: api.Address{TargetKey: "k", ProfileKey: "default"}, RequestID: "r1",
			Content: sessions.Text("hello"), MaxIterations: new(3), PromptTimeoutMs: new(int64(1000)),
		})
		require.True(t, hosttest.Result[api.PromptResult](t, reply).Duplicate, "limits and spelling are no other request")
	})
}

func TestCase04RetryAfterEndEvictionAndRestart(t *testing.T) {
	for _, fails := range []bool{false, true} {
		name := map[bool]string{false: "completed", true: "failed"}[fails]
		t.Run(name, func(t *testing.T) {
			steps := []scripted.Step{{Text: "done"}}
			if fails {
				steps = []scripted.Step{{Fail: "no"}}
			}
			b := newBench(when("work", steps...))
			h := hosttest.New(t, b.options(t, host.Profile{IdleTTL: 20 * time.Millisecond}))
			ask := func() (api.PromptResult, sessions.Code) {
				result, err := h.Client.Prompt(t.Context(), work(), nil)
				if err != nil {
					return api.PromptResult{}, sessions.CodeOf(err)
				}
				return *result, ""
			}
			first, code := ask()
			require.Equal(t, fails, code == sessions.CodeLLMAPIFailure)
			same := func() {
				t.Helper()
				again, againCode := ask()
				require.Equal(t, code, againCode)
				require.Equal(t, !fails, again.Duplicate)
				sameAnswer(t, first, again)
			}
			same()
			awaitEviction(t, h, "k")
			same()
			h.Restart()
			same()
			require.Len(t, turnsOf(t, h), 1)
			require.Len(t, b.oracle.Requests(), 1)
		})
	}
}

// awaitEviction waits until the session of a key has no actor.
func awaitEviction(t *testing.T, h *hosttest.Host, key string) {
	t.Helper()
	require.Eventually(t, func() bool {
		got, err := h.SessionGet(context.WithoutCancel(t.Context()), &api.SessionGetArgs{Address: api.Address{TargetKey: key}})
		return err == nil && !got.Session.Resident
	}, hosttest.Patience, 5*time.Millisecond)
}

func TestCase05RetryOverAnotherConnectionAndEnvelope(t *testing.T) {
	b := newBench()
	h := hosttest.New(t, b.options(t, host.Profile{}))
	first := h.Socket()
	first.Send(`{"id":"one","op":"$prompt","args":{"targetKey":"k","text":"hi","requestId":"r1"}}`)
	original := hosttest.Result[api.PromptResult](t, first.Read().Reply)
	first.Cut()

	second := h.Socket()
	second.Send(`{"id":"two","op":"$prompt","args":{"targetKey":"k","text":"hi","requestId":"r1"}}`)
	repeated := hosttest.Result[api.PromptResult](t, second.Read().Reply)
	require.True(t, repeated.Duplicate)
	sameAnswer(t, original, repeated)

	status, reply := h.PostRaw(`{"op":"$prompt","args":{"text":"hi","targetKey":"k","requestId":"r1"}}`)
	require.Equal(t, 200, status)
	sameAnswer(t, original, hosttest.Result[api.PromptResult](t, reply))
	require.Len(t, b.oracle.Requests(), 1)
}

func TestCase06CreateTwiceWhileTheFirstPromptRuns(t *testing.T) {
	var b *bench
	options := func() hosttest.Options {
		b = newBench(when("work", scripted.Step{Text: "wo", Hang: true}))
		return b.options(t, host.Profile{})
	}
	throughEveryDoor(t, options, func(h *hosttest.Host, call caller) {
		t := call.t
		at := api.Address{SessionID: "mine"}
		create := func() api.SessionCreateResult {
			return hosttest.Result[api.SessionCreateResult](t, call.call(api.OpSessionCreate, api.SessionCreateArgs{Address: at}))
		}
		require.True(t, create().Created)
		running := background(func() (*api.PromptResult, error) {
			return h.Prompt(t.Context(), &api.PromptArgs{Address: at, Text: "work"}, nil)
		})
		require.NoError(t, b.oracle.Await(t.Context(), 1))
		again := create()
		require.False(t, again.Created)
		require.Equal(t, sessions.StatusRunning, again.Session.Status)

		cancelled := hosttest.Result[api.CancelResult](t, call.call(api.OpCancel, api.CancelArgs{Address: at}))
		require.True(t, cancelled.Cancelled)
		require.Equal(t, sessions.CodeCancelled, sessions.CodeOf((<-running).err))
		require.False(t, hosttest.Result[api.CancelResult](t, call.call(api.OpCancel, api.CancelArgs{Address: at})).Cancelled)
		turns, err := h.Turns(t.Context(), &api.TurnsArgs{Address: at})
		require.NoError(t, err)
		require.Len(t, turns.Turns, 1)
		result := hosttest.Result[api.PromptResult](t, call.call(api.OpPrompt, api.PromptArgs{Address: at, Text: "and now?"}))
		require.Equal(t, "fine", sessions.TextOf(result.Message.Content))
	})
}

func TestCase07BusyPromptSentAgainWhenIdle(t *testing.T) {
	inMidTurn(t, func(h *hosttest.Host, b *bench, call caller, first <-chan outcome[*api.PromptResult]) {
		t := call.t
		args := api.PromptArgs{Address: work().Address, Text: "me too", RequestID: "r2"}
		require.Equal(t, sessions.CodeAgentBusy, hosttest.Code(call.call(api.OpPrompt, args)))
		close(b.release)
		require.NoError(t, (<-first).err)
		result := hosttest.Result[api.PromptResult](t, call.call(api.OpPrompt, args))
		require.False(t, result.Duplicate)
		require.Equal(t, "fine", sessions.TextOf(result.Message.Content))
		require.Len(t, turnsOf(t, h), 2)
	})
}
