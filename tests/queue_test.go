package tests

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/sessions"
)

// queued is the i-th prompt that waits behind the work of k.
func queued(i int) api.PromptArgs {
	return api.PromptArgs{Address: atK, Text: fmt.Sprint("next ", i), RequestID: sessions.RequestID(fmt.Sprint("q", i)), Busy: sessions.BusyQueue}
}

// readReplies reads n replies in whatever order they come, each once.
func readReplies(t *testing.T, s *hosttest.Socket, into map[string]api.Reply, n int) {
	t.Helper()
	for range n {
		m := s.Read()
		require.True(t, m.IsReply(), m.Text)
		require.NotContains(t, into, *m.ID, "a second answer")
		into[*m.ID] = m.Reply
	}
}

// sendQueued sends n prompts that queue, each once the one before is accepted, and
// returns the ids of the requests in order.
func sendQueued(t *testing.T, h *hosttest.Host, s *hosttest.Socket, n int) (ids []string) {
	t.Helper()
	for i := range n {
		ids = append(ids, s.Request(api.OpPrompt, queued(i)))
		awaitAccepted(t, h, queued(i).RequestID)
	}
	return ids
}

// awaitAccepted waits until a prompt of k is durable, whatever it waits for.
func awaitAccepted(t *testing.T, h *hosttest.Host, id sessions.RequestID) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := h.Turn(t.Context(), &api.TurnArgs{Address: atK, RequestID: id})
		return err == nil
	}, hosttest.Patience, eventTick)
}

// Field case 49: the queue is filled to its limit and past it, all at once. Each
// request id has one outcome, also when it is sent again.
func TestCase49EveryRequestHasOneOutcome(t *testing.T) {
	const prompts = 40
	limit := sessions.DefaultLimits().QueuedPrompts
	b := workBench()
	h := hosttest.New(t, b.options(t, host.Profile{}))
	s := h.Socket()
	first := s.Request(api.OpPrompt, work())
	<-b.began
	ids := map[string]int{}
	for i := range prompts {
		ids[s.Request(api.OpPrompt, queued(i))] = i
	}
	replies := map[string]api.Reply{}
	readReplies(t, s, replies, prompts-limit)
	for id := range replies {
		require.Equal(t, sessions.CodeAgentBusy, hosttest.Code(replies[id]))
		require.True(t, replies[id].Error.Retryable)
	}
	got := hosttest.Result[api.SessionGetResult](t, h.Socket().Call(api.OpSessionGet, api.SessionGetArgs{Address: atK})).Session
	require.EqualValues(t, limit, got.Queued)
	close(b.release)
	readReplies(t, s, replies, limit+1)
	require.Empty(t, hosttest.Code(replies[first]))
	ran := map[string]bool{}
	for id, i := range ids {
		if hosttest.Code(replies[id]) == "" {
			ran[queued(i).Text] = true
		}
	}
	require.Len(t, ran, limit)
	again := map[string]api.Reply{}
	for i := range prompts {
		id := s.Request(api.OpPrompt, queued(i))
		readReplies(t, s, again, 1)
		result := hosttest.Result[api.PromptResult](t, again[id])
		require.Equal(t, ran[queued(i).Text], result.Duplicate, "one that was refused is not used up")
		require.Equal(t, "fine", sessions.TextOf(result.Message.Content))
	}
	require.Len(t, turnsOf(t, h), 1+prompts, "every prompt ran once")
}

// Field case 50: what ends a session with queued prompts answers each of them once.
func TestCase50EndsWithQueuedPrompts(t *testing.T) {
	ends := map[string]struct {
		op            api.Op
		args          any
		first, queued sessions.Code
	}{
		"delete": {api.OpSessionDelete, api.SessionDeleteArgs{Address: atK}, sessions.CodeSessionDeleted, sessions.CodeSessionDeleted},
		"close":  {api.OpSessionClose, api.SessionCloseArgs{Address: atK}, sessions.CodeCancelled, sessions.CodeSessionClosed},
		"clear":  {api.OpSessionClearAll, api.SessionClearAllArgs{}, sessions.CodeSessionDeleted, sessions.CodeSessionDeleted},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			b := workBench()
			h := hosttest.New(t, b.options(t, host.Profile{}))
			s := h.Socket()
			first := s.Request(api.OpPrompt, work())
			<-b.began
			ids := sendQueued(t, h, s, 5)
			require.NoError(t, h.Socket().Call(end.op, end.args).Err())
			replies := map[string]api.Reply{}
			readReplies(t, s, replies, 1+len(ids))
			require.Equal(t, end.first, hosttest.Code(replies[first]))
			for _, id := range ids {
				require.Equal(t, end.queued, hosttest.Code(replies[id]))
			}
			require.NoError(t, s.Call(api.OpPing, api.PingArgs{}).Err(), "and no other answer came")
		})
	}
}

// Field case 50: a stop answers them, their turns run at the next start, and the
// same request ids join them.
func TestCase50StopWithQueuedPrompts(t *testing.T) {
	const prompts = 5
	b := workBench()
	h := hosttest.New(t, b.options(t, host.Profile{}))
	s := h.Socket()
	s.Request(api.OpPrompt, work())
	<-b.began
	ids := sendQueued(t, h, s, prompts)
	answers := background(func() (map[string]api.Reply, error) {
		replies := map[string]api.Reply{}
		readReplies(t, s, replies, 1+prompts)
		return replies, nil
	})
	h.Stop()
	replies := (<-answers).value
	turns := map[string]any{}
	for _, id := range ids {
		require.Equal(t, sessions.CodeHostStopping, hosttest.Code(replies[id]))
		require.True(t, replies[id].Error.Retryable)
		turns[id] = replies[id].Error.Details["turnId"]
		require.NotEmpty(t, turns[id])
	}
	h.Restart()
	s = h.Socket()
	for i, id := range ids {
		result := hosttest.Result[api.PromptResult](t, s.Call(api.OpPrompt, queued(i)))
		require.True(t, result.Duplicate)
		require.EqualValues(t, turns[id], result.TurnID)
		require.Equal(t, "fine", sessions.TextOf(result.Message.Content))
	}
	require.Len(t, turnsOf(t, h), 1+prompts)
	require.Equal(t, sessions.CodeHostRestarted, hosttest.Code(s.Call(api.OpPrompt, work())), "its tool may not be run twice")
}

// A prompt that steers, one that interrupts, and those who follow them.
func TestSteerAndInterruptOverTheWire(t *testing.T) {
	inMidTurn(t, func(h *hosttest.Host, b *bench, call caller, running <-chan outcome[*api.PromptResult]) {
		t := call.t
		s := h.Socket()
		text := s.Request(api.OpPrompt, api.PromptArgs{Address: atK, Text: "text", RequestID: "s", Busy: sessions.BusySteer, Stream: true})
		awaitAccepted(t, h, "s")
		waits := hosttest.Result[api.PromptResult](t, call.call(api.OpPrompt, api.PromptArgs{
			Address: atK, Text: "more", RequestID: "m", Busy: sessions.BusySteer, Wait: api.WaitAccepted}))
		require.Equal(t, api.PromptAccepted, waits.Status)
		require.EqualValues(t, "m", waits.RequestID, "its own, whoever's turn it is")
		awaited := background(func() (*api.TurnResult, error) {
			return h.Client.Turn(t.Context(), api.TurnArgs{Address: atK, RequestID: "m", Wait: api.WaitDone})
		})
		close(b.release)
		result := <-running
		require.NoError(t, result.err)
		require.Equal(t, "fine", sessions.TextOf(result.value.Message.Content), "the answer to the text")
		frames, reply := s.Reply(text)
		read := hosttest.Result[api.PromptResult](t, reply)
		require.Equal(t, result.value.TurnID, read.TurnID)
		require.EqualValues(t, "s", read.RequestID)
		require.Equal(t, sessions.FrameMessage, frames[0].Type())
		require.Equal(t, sessions.FrameCompleted, frames[len(frames)-1].Type())
		turn := <-awaited
		require.NoError(t, turn.err)
		require.Equal(t, result.value.TurnID, turn.value.Turn.TurnID)

		b.release = make(chan struct{})
		again := work()
		again.RequestID = "r2"
		running = background(func() (*api.PromptResult, error) { return h.Client.Prompt(t.Context(), again, nil) })
		<-b.began
		urgent := hosttest.Result[api.PromptResult](t, call.call(api.OpPrompt, api.PromptArgs{
			Address: atK, Text: "urgent", RequestID: "u", Busy: sessions.BusyInterrupt}))
		require.Equal(t, "fine", sessions.TextOf(urgent.Message.Content))
		require.Equal(t, sessions.CodeCancelled, sessions.CodeOf((<-running).err))
	})
}
