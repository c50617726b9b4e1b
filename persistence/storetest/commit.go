package storetest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testCommit(t *testing.T, f Factory) {
	f.run(t, "a step appends and the turn goes on", func(t *testing.T) { commitStep(t, f) })
	f.run(t, "a fence of another epoch or life stores nothing", func(t *testing.T) {
		w := newWorld(t, f)
		a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		for _, fence := range []sessions.Fence{
			{Incarnation: a.Session.Fence.Incarnation, Epoch: a.Session.Fence.Epoch - 1},
			{Incarnation: a.Session.Fence.Incarnation, Epoch: a.Session.Fence.Epoch + 1},
			{Incarnation: a.Session.Fence.Incarnation + 1, Epoch: a.Session.Fence.Epoch},
		} {
			c := w.answer(a, "late")
			c.Fence = fence
			w.requireNothing(c, sessions.ErrFenced)
		}
		w.commit(w.answer(a, "reply"))
	})
	f.run(t, "a newer activation fences the older one", func(t *testing.T) {
		w := newWorld(t, f)
		old, _ := w.turn(byKey("doc", "writer"), "one", "1")
		w.accept(w.prompt(byKey("doc", "writer"), "two"))
		w.requireNothing(w.answer(old, "late"), sessions.ErrFenced)
	})
	f.run(t, "a turn that has ended takes nothing more", func(t *testing.T) {
		for _, status := range []sessions.TurnStatus{sessions.TurnIsCompleted, sessions.TurnIsFailed, sessions.TurnIsCancelled, sessions.TurnIsInterrupted} {
			w := newWorld(t, f)
			a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
			done := w.end(a, status, nil)
			late := w.answer(a, "late")
			w.requireNothing(late, sessions.ErrTurnEnded)
			late.End = nil
			w.requireNothing(late, sessions.ErrTurnEnded)
			require.Equal(t, done.Session, w.get(byKey("doc", "writer")))
		}
	})
	f.run(t, "seqs that do not continue the history are a fault", func(t *testing.T) {
		w := newWorld(t, f)
		a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		for _, seq := range []int64{0, 1, 3} {
			c := w.answer(a, "reply")
			c.Messages[0].Seq = seq
			_, err := w.store.CommitTurn(t.Context(), c)
			requireCode(t, sessions.CodeInternal, err)
		}
		require.Len(t, w.history(a.Session.Fence.Incarnation), 1)
		w.commit(w.answer(a, "reply"))
	})
	f.run(t, "ends and frames that no turn has are a fault", func(t *testing.T) {
		w := newWorld(t, f)
		a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		running := w.answer(a, "reply")
		running.End.Status = sessions.TurnIsRunning
		_, err := w.store.CommitTurn(t.Context(), running)
		requireCode(t, sessions.CodeInternal, err)
		for _, body := range []sessions.FrameBody{sessions.Completed{}, sessions.Delta{}, sessions.Gap{}} {
			c := w.step(a)
			c.Frames = []sessions.FrameBody{body}
			_, err := w.store.CommitTurn(t.Context(), c)
			requireCode(t, sessions.CodeInternal, err)
		}
		unknown := w.answer(a, "reply")
		unknown.TurnID = "nobody"
		_, err = w.store.CommitTurn(t.Context(), unknown)
		requireCode(t, sessions.CodeInternal, err)
		w.commit(w.answer(a, "reply"))
	})
}

// requireNothing sends a step that must be refused whole.
func (w *world) requireNothing(c sessions.CommitTurn, want error) {
	w.t.Helper()
	life := w.get(byKey("doc", "writer")).Fence.Incarnation
	messages, frames := w.history(life), w.frames(life)
	c.State = map[string]json.RawMessage{"late": json.RawMessage(`1`)}
	_, err := w.store.CommitTurn(w.t.Context(), c)
	require.ErrorIs(w.t, err, want)
	require.Equal(w.t, messages, w.history(life))
	require.Equal(w.t, frames, w.frames(life))
	state, err := w.store.State(w.t.Context(), life, "late")
	require.NoError(w.t, err)
	require.Empty(w.t, state)
}

func commitStep(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	life := a.Session.Fence.Incarnation
	w.now += minute

	call := sessions.ToolCall{ID: "c1", Path: "math/add", Args: json.RawMessage(`{"a": 1, "b":"<&>"}`)}
	asks := sessions.Message{Seq: 2, Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{call}}
	result := sessions.Message{Seq: 3, Role: sessions.RoleTool, ToolCallID: "c1", Error: failure(sessions.CodeToolInvokeFailed)}
	c := w.step(a)
	c.Messages = []sessions.Message{asks, result}
	c.Frames = []sessions.FrameBody{
		sessions.TextPart{Step: 1, Attempt: 1, Text: "thinking"},
		sessions.MessageAppended{Message: asks},
		sessions.CallStarted{Call: sessions.ToolCall{ID: "c1", Path: "math/add", Args: json.RawMessage(`{"a":1}`)}},
		sessions.CallEnded{CallID: "c1", Error: failure(sessions.CodeToolInvokeFailed), DurationMs: 7},
		sessions.UsageReported{Usage: sessions.Usage{Calls: 1}},
		sessions.MessageAppended{Message: result},
	}
	c.Usage, c.Model, c.Iterations = sessions.Usage{InputTokens: 5, Calls: 1}, "model-a", 1
	step := w.commit(c)

	for _, m := range []*sessions.Message{&asks, &result} {
		m.TurnID, m.CreatedAt = a.Turn.TurnID, w.now
	}
	require.Equal(t, []sessions.Message{*a.User, asks, result}, w.history(life), "raw JSON keeps its very bytes")
	require.Equal(t, append(a.Frames, step.Frames...), w.frames(life))
	require.Len(t, step.Frames, len(c.Frames))
	require.Equal(t, sessions.MessageAppended{Message: result}, step.Frames[5].Body)

	s := w.get(addressOf(a.Session))
	require.Equal(t, step.Session, s)
	require.Equal(t, sessions.StatusRunning, s.Status)
	require.EqualValues(t, 3, s.MessageCount)
	require.EqualValues(t, 9, s.LastFrame)
	require.Equal(t, c.Usage, s.Usage)
	require.Equal(t, a.Session.ActiveTurn, s.ActiveTurn)
	require.Equal(t, noon, s.LastActiveAt, "a step is no activity in the list's sense")

	done := w.commit(w.answer(sessions.AcceptedTurn{Session: s, Turn: a.Turn}, "reply"))
	require.Equal(t, sessions.Usage{InputTokens: 15, OutputTokens: 3, CachedTokens: 2, Calls: 2}, done.Session.Usage)
	require.Equal(t, done.Session.Usage, done.Turn.Usage)
}
