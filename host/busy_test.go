package host_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/sessions"
)

// busyHost runs "work", held up by gate, in the session of k.
func busyHost(t *testing.T, gate chan struct{}, limits sessions.Limits) (*hosttest.Host, <-chan outcome[*api.PromptResult]) {
	t.Helper()
	o := workOracle(gate)
	h := hosttest.New(t, hosttest.Options{Profiles: profiles(o), Config: host.Config{Limits: limits}})
	running := background(func() (*api.PromptResult, error) {
		return h.Prompt(t.Context(), &api.PromptArgs{Address: atK, Text: "work", RequestID: "r"}, nil)
	})
	require.NoError(t, o.Await(t.Context(), 1))
	return h, running
}

// A queued prompt's stream has the frames of its own turn and no others, the
// terminal one last; with accepted it has none.
func TestFramesOfAPromptThatWaits(t *testing.T) {
	gate := make(chan struct{})
	h, running := busyHost(t, gate, sessions.Limits{})
	accepted, err := h.Prompt(t.Context(), &api.PromptArgs{
		Address: atK, Text: "next", RequestID: "q", Busy: sessions.BusyQueue, Wait: api.WaitAccepted,
	}, func(f sessions.Frame) error {
		t.Errorf("a frame of a prompt that waits: %v", f)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, api.PromptAccepted, accepted.Status)
	var seen []sessions.FrameType
	queued := background(func() (*api.PromptResult, error) {
		return h.Prompt(t.Context(), &api.PromptArgs{Address: atK, Text: "next", RequestID: "q"}, func(f sessions.Frame) error {
			if f.TurnID != accepted.TurnID {
				t.Errorf("a frame of another turn: %v", f)
			}
			if f.Seq > 0 {
				seen = append(seen, f.Type())
			}
			return nil
		})
	})
	close(gate)
	require.NoError(t, (<-running).err)
	got := <-queued
	require.NoError(t, got.err)
	require.True(t, got.value.Duplicate)
	require.Equal(t, accepted.TurnID, got.value.TurnID)
	require.Equal(t, sessions.FrameAccepted, seen[0])
	require.Equal(t, sessions.FrameCompleted, seen[len(seen)-1])
}

// A withdrawn prompt's stream shows how its turn ended.
func TestFramesOfAWithdrawnPrompt(t *testing.T) {
	gate := make(chan struct{})
	h, running := busyHost(t, gate, sessions.Limits{})
	var seen []sessions.FrameType
	queued := background(func() (*api.PromptResult, error) {
		return h.Prompt(t.Context(), &api.PromptArgs{Address: atK, Text: "next", RequestID: "q", Busy: sessions.BusyQueue},
			func(f sessions.Frame) error {
				seen = append(seen, f.Type())
				return nil
			})
	})
	require.Eventually(t, func() bool {
		done, err := h.Cancel(t.Context(), &api.CancelArgs{Address: atK, RequestID: "q"})
		return err == nil && done.Cancelled
	}, hosttest.Patience, time.Millisecond)
	require.Equal(t, sessions.CodeCancelled, sessions.CodeOf((<-queued).err))
	require.Equal(t, []sessions.FrameType{sessions.FrameCancelled}, seen)
	close(gate)
	require.NoError(t, (<-running).err)
}

// $turn finds a prompt that waits by its request id, and waits for its end:
// that of the turn which has read the text, or of the turn which it became.
func TestTurnOfAPromptThatWaits(t *testing.T) {
	gate := make(chan struct{})
	h, running := busyHost(t, gate, sessions.Limits{})
	for id, policy := range map[sessions.RequestID]sessions.BusyPolicy{"q": sessions.BusyQueue, "s": sessions.BusySteer} {
		_, err := h.Prompt(t.Context(), &api.PromptArgs{
			Address: atK, Text: "next " + string(id), RequestID: id, Busy: policy, Wait: api.WaitAccepted,
		}, nil)
		require.NoError(t, err)
	}
	now, err := h.Turn(t.Context(), &api.TurnArgs{Address: atK, RequestID: "q", Wait: api.WaitAccepted})
	require.NoError(t, err)
	require.Equal(t, sessions.TurnIsQueued, now.Turn.Status)
	now, err = h.Turn(t.Context(), &api.TurnArgs{Address: atK, RequestID: "s"})
	require.NoError(t, err)
	require.Equal(t, sessions.TurnIsRunning, now.Turn.Status)
	require.EqualValues(t, "r", now.Turn.RequestID)
	awaited := map[sessions.RequestID]<-chan outcome[*api.TurnResult]{}
	for _, id := range []sessions.RequestID{"q", "s"} {
		awaited[id] = background(func() (*api.TurnResult, error) {
			return h.Turn(context.WithoutCancel(t.Context()), &api.TurnArgs{Address: atK, RequestID: id, Wait: api.WaitDone})
		})
	}
	close(gate)
	require.NoError(t, (<-running).err)
	for id, end := range awaited {
		got := <-end
		require.NoError(t, got.err)
		require.Equal(t, id, got.value.Turn.RequestID, "the turn has not read the text, so it is one of its own")
		require.Equal(t, "fine", sessions.TextOf(got.value.Turn.Message.Content))
	}
}

func TestQueuedPromptsAreBounded(t *testing.T) {
	gate := make(chan struct{})
	h, running := busyHost(t, gate, sessions.Limits{QueuedPrompts: 1})
	for _, policy := range []sessions.BusyPolicy{sessions.BusyQueue, sessions.BusySteer} {
		args := &api.PromptArgs{Address: atK, Text: "next", Busy: policy, Wait: api.WaitAccepted}
		_, err := h.Prompt(t.Context(), args, nil)
		require.NoError(t, err)
		_, err = h.Prompt(t.Context(), args, nil)
		require.Equal(t, sessions.CodeAgentBusy, sessions.CodeOf(err))
	}
	close(gate)
	require.NoError(t, (<-running).err)
}
