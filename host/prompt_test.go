package host_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

func TestPromptsRequestIDIsMadeWhenMissing(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	first, err := h.Prompt(t.Context(), &api.PromptArgs{Address: atK, Text: "hi"}, nil)
	require.NoError(t, err)
	second, err := h.Prompt(t.Context(), &api.PromptArgs{Address: atK, Text: "hi"}, nil)
	require.NoError(t, err)
	require.NotEmpty(t, first.RequestID)
	require.NotEqual(t, first.RequestID, second.RequestID)
	require.False(t, second.Duplicate)
}

func TestPromptAcceptedAnswersBeforeTheTurnEnds(t *testing.T) {
	gate := make(chan struct{})
	h := hosttest.New(t, hosttest.Options{Profiles: profiles(workOracle(gate))})
	args := &api.PromptArgs{Address: atK, Text: "work", RequestID: "r1", Wait: api.WaitAccepted}
	var seen []sessions.FrameType
	result, err := h.Prompt(t.Context(), args, func(f sessions.Frame) error {
		seen = append(seen, f.Type())
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, api.PromptAccepted, result.Status)
	require.Nil(t, result.Message)
	require.Equal(t, []sessions.FrameType{sessions.FrameAccepted}, seen)

	sub, err := h.Subscribe(t.Context(), &api.SubscribeArgs{Address: atK, After: result.Cursor})
	require.NoError(t, err)
	defer sub.Close()
	close(gate)
	for {
		frame, err := sub.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, result.TurnID, frame.TurnID)
		if frame.Type().Terminal() {
			break
		}
	}
	again, err := h.Prompt(t.Context(), args, nil)
	require.NoError(t, err)
	require.True(t, again.Duplicate)
	require.Equal(t, api.PromptAccepted, again.Status)
	require.Equal(t, result.TurnID, again.TurnID)
}

// Of a turn that ended long ago no frame may be kept, or only the last ones. A
// repeat of its prompt gets gaps in their place, and its reply.
func TestRepeatedPromptWhoseFramesAreCut(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{Store: sqlite.Config{FramesPerSession: 3}})
	prompt := func(id sessions.RequestID, wait api.Wait) (*api.PromptResult, []sessions.FrameType) {
		var seen []sessions.FrameType
		args := &api.PromptArgs{Address: atK, Text: "hi", RequestID: id, Wait: wait, Stream: true}
		result, err := h.Prompt(t.Context(), args, func(f sessions.Frame) error {
			require.Contains(t, []sessions.RequestID{id, ""}, f.RequestID)
			seen = append(seen, f.Type())
			return nil
		})
		require.NoError(t, err)
		return result, seen
	}
	for _, id := range []sessions.RequestID{"r1", "r2", "r3"} {
		_, seen := prompt(id, api.WaitDone)
		require.Equal(t, sessions.FrameCompleted, seen[len(seen)-1])
	}
	for _, c := range []struct {
		id   sessions.RequestID
		wait api.Wait
		seen []sessions.FrameType
	}{
		{"r1", api.WaitDone, []sessions.FrameType{sessions.FrameGap}},
		{"r1", api.WaitAccepted, []sessions.FrameType{sessions.FrameGap}},
		{"r3", api.WaitDone, []sessions.FrameType{sessions.FrameGap, sessions.FrameUsage, sessions.FrameMessage, sessions.FrameCompleted}},
		{"r3", api.WaitAccepted, []sessions.FrameType{sessions.FrameGap}},
	} {
		result, seen := prompt(c.id, c.wait)
		require.True(t, result.Duplicate)
		require.Equal(t, c.id, result.RequestID)
		require.Equal(t, c.seen, seen, "%s %s", c.id, c.wait)
	}
}

func TestPromptsCallerMayTurnAway(t *testing.T) {
	gate := make(chan struct{})
	o := workOracle(gate)
	h := hosttest.New(t, hosttest.Options{Profiles: profiles(o)})
	args := &api.PromptArgs{Address: atK, Text: "work", RequestID: "r1"}
	ctx, leave := context.WithCancel(t.Context())
	running := background(func() (*api.PromptResult, error) { return h.Prompt(ctx, args, nil) })
	require.NoError(t, o.Await(t.Context(), 1))
	leave()
	require.ErrorIs(t, (<-running).err, context.Canceled)
	close(gate)
	result, err := h.Prompt(t.Context(), args, nil)
	require.NoError(t, err)
	require.True(t, result.Duplicate)
	require.Equal(t, "done", sessions.TextOf(result.Message.Content))
}

func TestPromptGoesOnWhenItsFramesAreNotWanted(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	frames := 0
	result, err := h.Prompt(t.Context(), &api.PromptArgs{Address: atK, Text: "hi"}, func(sessions.Frame) error {
		frames++
		return errors.New("enough")
	})
	require.NoError(t, err)
	require.Equal(t, api.PromptCompleted, result.Status)
	require.Equal(t, 1, frames)
}

func TestPromptRefusedHasNoFrames(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	for _, args := range []api.PromptArgs{
		{Address: api.Address{SessionID: "nobody"}, Text: "hi"},
		{Address: api.Address{TargetKey: "k", ProfileKey: "nobody"}, Text: "hi"},
		{Address: atK, Text: "hi", MaxIterations: new(1000)},
		{Address: atK},
	} {
		for _, wait := range []api.Wait{api.WaitDone, api.WaitAccepted} {
			args.Wait = wait
			_, err := h.Prompt(t.Context(), &args, func(f sessions.Frame) error {
				t.Errorf("a frame of a refused prompt: %v", f)
				return nil
			})
			require.Error(t, err)
		}
	}
}

// A duplicate that streams gets the kept frames of its turn from the first on,
// and none of another turn.
func TestPromptRepeatedReplaysItsTurn(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	args := &api.PromptArgs{Address: atK, Text: "one", RequestID: "r1"}
	_, err := h.Prompt(t.Context(), args, nil)
	require.NoError(t, err)
	_, err = h.Prompt(t.Context(), &api.PromptArgs{Address: atK, Text: "two"}, nil)
	require.NoError(t, err)
	var seqs []int64
	result, err := h.Prompt(t.Context(), args, func(f sessions.Frame) error {
		require.Equal(t, sessions.RequestID("r1"), f.RequestID)
		seqs = append(seqs, f.Seq)
		return nil
	})
	require.NoError(t, err)
	require.True(t, result.Duplicate)
	kept, err := h.Frames(t.Context(), &api.FramesArgs{Address: atK, RequestID: "r1"})
	require.NoError(t, err)
	require.Len(t, seqs, len(kept.Frames))
	for i, seq := range seqs {
		require.EqualValues(t, i+1, seq)
	}
}
