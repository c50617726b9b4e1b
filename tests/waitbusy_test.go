package tests

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/sessions"
)

// guardedWork is a workBench whose tool needs an approval and runs at once.
func guardedWork(t *testing.T) hosttest.Options {
	t.Helper()
	b := workBench()
	close(b.release)
	return b.options(t, host.Profile{NeedsApproval: []string{waitPath}})
}

// approval sends the work of k until it waits, and returns the approval of its call.
func (c caller) approval(id sessions.RequestID) api.AnswerArgs {
	c.t.Helper()
	args := work()
	args.RequestID, args.Wait = id, api.WaitPending
	result := hosttest.Result[api.PromptResult](c.t, c.call(api.OpPrompt, args))
	require.Equal(c.t, api.PromptWaiting, result.Status)
	require.Len(c.t, result.Pending, 1)
	return api.AnswerArgs{Address: atK, CallID: result.Pending[0].CallID, Approve: new(true)}
}

// turn waits until the turn of a request has ended.
func (c caller) turn(id sessions.RequestID) api.TurnWithAnswer {
	c.t.Helper()
	args := api.TurnArgs{Address: atK, RequestID: id, Wait: api.WaitDone}
	return hosttest.Result[api.TurnResult](c.t, c.call(api.OpTurn, args)).Turn
}

// busyPrompt sends a prompt to k with a policy, and waits until it is durable.
func (c caller) busyPrompt(text string, busy sessions.BusyPolicy) api.Reply {
	c.t.Helper()
	return c.call(api.OpPrompt, api.PromptArgs{
		Address: atK, Text: text, RequestID: sessions.RequestID(text), Busy: busy, Wait: api.WaitAccepted})
}

// requireWholeHistory requires that each call in k has its one result, and returns
// what the newest result says.
func requireWholeHistory(t *testing.T, h *hosttest.Host) sessions.Message {
	t.Helper()
	page, err := h.Messages(t.Context(), &api.MessagesArgs{Address: atK})
	require.NoError(t, err)
	require.Empty(t, sessions.OpenCalls(page.Messages))
	require.NoError(t, sessions.CheckPairing("/messages", page.Messages))
	var newest sessions.Message
	for _, m := range page.Messages {
		if m.Role == sessions.RoleTool {
			newest = m
		}
	}
	return newest
}

func TestPromptsToATurnThatWaitsThroughEveryDoor(t *testing.T) {
	throughEveryDoor(t, func() hosttest.Options { return guardedWork(t) }, func(h *hosttest.Host, call caller) {
		t := call.t
		answer := call.approval("r1")
		require.Equal(t, sessions.CodeAgentBusy, hosttest.Code(call.busyPrompt("rejected", sessions.BusyReject)))
		for text, busy := range map[string]sessions.BusyPolicy{"queued": sessions.BusyQueue, "steered": sessions.BusySteer} {
			accepted := hosttest.Result[api.PromptResult](t, call.busyPrompt(text, busy))
			require.Equal(t, api.PromptAccepted, accepted.Status)
		}

		list := api.SessionListArgs{Status: api.OneOrMany[sessions.Status]{sessions.StatusWaiting}}
		listed := hosttest.Result[api.SessionListResult](t, call.call(api.OpSessionList, list)).Sessions
		require.Len(t, listed, 1)
		require.Len(t, listed[0].Pending, 1)
		require.Equal(t, answer.CallID, listed[0].Pending[0].CallID)

		require.True(t, hosttest.Result[api.AnswerResult](t, call.call(api.OpAnswer, answer)).Accepted)
		first, queued := call.turn("r1"), call.turn("queued")
		require.Equal(t, "fine", sessions.TextOf(first.Message.Content), "the answer to the text")
		require.Equal(t, first.TurnID, call.turn("steered").TurnID)
		require.Equal(t, "fine", sessions.TextOf(queued.Message.Content))
		require.NotEqual(t, first.TurnID, queued.TurnID)
		requireWholeHistory(t, h)
	})
}

func TestInterruptOfATurnThatWaitsThroughEveryDoor(t *testing.T) {
	throughEveryDoor(t, func() hosttest.Options { return guardedWork(t) }, func(h *hosttest.Host, call caller) {
		t := call.t
		answer := call.approval("r1")
		require.NoError(t, call.busyPrompt("urgent", sessions.BusyInterrupt).Err())
		require.Equal(t, sessions.TurnIsCompleted, call.turn("urgent").Status)
		require.Equal(t, sessions.TurnIsCancelled, call.turn("r1").Status)
		require.Equal(t, sessions.CodeNotFound, hosttest.Code(call.call(api.OpAnswer, answer)))
		require.NotNil(t, requireWholeHistory(t, h).Error)
	})
}

// Field case 42: an answer and a cancel over two sockets. Whichever comes first,
// there is one outcome, the history is whole, and the next prompt works.
func TestCase42AnAnswerRacesACancelOverTwoSockets(t *testing.T) {
	h := hosttest.New(t, guardedWork(t))
	call := caller{t, httpDoor(t, h)}
	answers, cancels := h.Socket(), h.Socket()
	cancel := api.CancelArgs{Address: atK}
	for i, order := range []string{"answer first", "cancel first", "at once", "at once", "at once", "at once"} {
		id := sessions.RequestID(rune('a' + i))
		answer := call.approval(id)
		var answered, cancelled api.Reply
		switch order {
		case "answer first":
			answered = answers.Call(api.OpAnswer, answer)
			cancelled = cancels.Call(api.OpCancel, cancel)
			require.NoError(t, answered.Err())
		case "cancel first":
			cancelled = cancels.Call(api.OpCancel, cancel)
			answered = answers.Call(api.OpAnswer, answer)
			require.Equal(t, sessions.CodeNotFound, hosttest.Code(answered))
		default:
			a, c := answers.Request(api.OpAnswer, answer), cancels.Request(api.OpCancel, cancel)
			_, answered = answers.Reply(a)
			_, cancelled = cancels.Reply(c)
		}

		ended := call.turn(id)
		stopped := hosttest.Result[api.CancelResult](t, cancelled).Cancelled
		require.Equal(t, stopped, ended.Status == sessions.TurnIsCancelled, "%s: %s", order, ended.Status)
		require.Contains(t, []sessions.Code{"", sessions.CodeNotFound}, hosttest.Code(answered), order)
		result := requireWholeHistory(t, h)
		if hosttest.Code(answered) != "" {
			require.True(t, stopped, "a refused answer has lost to the cancel")
			require.NotNil(t, result.Error, "and the tool has not run")
		}
		if !stopped {
			require.Nil(t, result.Error, order)
			require.Equal(t, "done", sessions.TextOf(ended.Message.Content))
		}
		require.Equal(t, "fine", call.mustPrompt("k", "go on"))
	}
}
