package tests

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/oracle/offline"
	"agenthost/sessions"
	"agenthost/tools"
)

// waitingHost is a host whose calls of /builtin/echo need an approval.
func waitingHost() hosttest.Options {
	return hosttest.Options{Profiles: map[string]host.Profile{sessions.DefaultProfile: {
		Oracle: offline.New(), Tools: hosttest.AllTools(), NeedsApproval: []string{tools.EchoPath},
	}}}
}

// guardedCall is a prompt to k whose turn waits for an approval.
func guardedCall(id sessions.RequestID) api.PromptArgs {
	return api.PromptArgs{Address: atK, Text: `/call builtin/echo {"text":"hi"}`, RequestID: id, Wait: api.WaitPending}
}

// waits sends such a prompt and returns its answer.
func (c caller) waits(id sessions.RequestID) api.PromptResult {
	c.t.Helper()
	result := hosttest.Result[api.PromptResult](c.t, c.call(api.OpPrompt, guardedCall(id)))
	require.Equal(c.t, api.PromptWaiting, result.Status)
	require.Len(c.t, result.Pending, 1)
	return result
}

// What a turn waits for is shown and answered after a restart, through every door.
func TestAWaitOutlivesItsHostThroughEveryDoor(t *testing.T) {
	throughEveryDoor(t, waitingHost, func(h *hosttest.Host, call caller) {
		t := call.t
		waits := call.waits("r1")
		h.Restart()
		got := hosttest.Result[api.SessionGetResult](t, call.call(api.OpSessionGet, api.SessionGetArgs{Address: atK}))
		require.Equal(t, waits.Pending, got.Session.Pending)
		require.Equal(t, waits.Pending, call.waits("r1").Pending, "a repetition joins the wait")
		for _, wait := range []api.Wait{"", api.WaitAccepted, api.WaitPending} {
			shown := hosttest.Result[api.TurnResult](t, call.call(api.OpTurn, api.TurnArgs{Address: atK, RequestID: "r1", Wait: wait}))
			require.Equal(t, waits.Pending, shown.Pending)
		}
		answer := api.AnswerArgs{Address: atK, CallID: waits.Pending[0].CallID, Approve: new(true)}
		for range 2 {
			require.True(t, hosttest.Result[api.AnswerResult](t, call.call(api.OpAnswer, answer)).Accepted)
		}
		answer.Approve = new(false)
		require.Equal(t, sessions.CodeConflict, hosttest.Code(call.call(api.OpAnswer, answer)))
		done := hosttest.Result[api.TurnResult](t, call.call(api.OpTurn, api.TurnArgs{Address: atK, RequestID: "r1", Wait: api.WaitDone}))
		require.Equal(t, sessions.TurnIsCompleted, done.Turn.Status)
	})
}

// Who awaits a turn behind the last answer is not told that it waits, since there
// is nothing left to answer.
func TestATurnWhoseCallsAreAnsweredIsNotSaidToWait(t *testing.T) {
	h := hosttest.New(t, waitingHost())
	call := caller{t, goDoor(t, h)}
	for i := range 50 {
		id := sessions.RequestID(fmt.Sprintf("r%d", i))
		waits := call.waits(id)
		hosttest.Result[api.AnswerResult](t, call.call(api.OpAnswer, api.AnswerArgs{Address: atK, CallID: waits.Pending[0].CallID, Approve: new(true)}))
		got := hosttest.Result[api.TurnResult](t, call.call(api.OpTurn, api.TurnArgs{Address: atK, RequestID: id, Wait: api.WaitPending}))
		require.Equal(t, sessions.TurnIsCompleted, got.Turn.Status)
		require.Empty(t, got.Pending)
	}
}

// case 42: cancel while an approval is pending, then prompt, through every door.
func TestCase42CancelOfAWaitThroughEveryDoor(t *testing.T) {
	throughEveryDoor(t, waitingHost, func(_ *hosttest.Host, call caller) {
		t := call.t
		waits := call.waits("r1")
		require.Equal(t, sessions.CodeAgentBusy, hosttest.Code(call.prompt("k", "hello")))
		require.True(t, hosttest.Result[api.CancelResult](t, call.call(api.OpCancel, api.CancelArgs{Address: atK})).Cancelled)
		late := api.AnswerArgs{Address: atK, CallID: waits.Pending[0].CallID, Approve: new(true)}
		require.Equal(t, sessions.CodeNotFound, hosttest.Code(call.call(api.OpAnswer, late)))
		require.Contains(t, call.mustPrompt("k", "hello"), "hello")
		call.waits("r2")
	})
}

// Whoever comes to a turn that waits is told so: by a subscription over a socket, by
// one over HTTP, and by the events of a repeated prompt.
func TestEveryClientThatComesHearsOfTheWait(t *testing.T) {
	h := hosttest.New(t, waitingHost())
	waits := caller{t, goDoor(t, h)}.waits("r1")
	told := func(f sessions.Frame) bool {
		body, ok := f.Body.(sessions.Waiting)
		if ok {
			require.Equal(t, waits.Pending, body.Pending)
		}
		return ok
	}

	s := h.Socket()
	hosttest.Result[api.SubscribeResult](t, s.Call(api.OpSubscribe, api.SubscribeArgs{Address: atK, After: sessions.CursorStart}))
	for !told(*s.Read().Frame) {
	}
	events := h.FrameEvents(waits.SessionID, "?after=0", "")
	for heard := false; !heard; {
		event, ok := events.Next()
		require.True(t, ok)
		heard = told(event.Frame(t))
	}
	events.Close()

	all := h.PostEvents(api.OpPrompt, guardedCall("r1")).Rest()
	require.True(t, told(all[len(all)-2].Frame(t)), "the last frame before the reply")
	var reply api.Reply
	require.NoError(t, json.Unmarshal([]byte(all[len(all)-1].Data), &reply))
	joined := hosttest.Result[api.PromptResult](t, reply)
	require.Equal(t, waits.Pending, joined.Pending)
	require.True(t, joined.Duplicate)
}
