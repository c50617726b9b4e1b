package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testEnd(t *testing.T, f Factory) {
	bad := failure(sessions.CodeLLMAPIFailure)
	for _, end := range []struct {
		status    sessions.TurnStatus
		session   sessions.Status
		failure   *sessions.ErrorInfo
		lastError *sessions.ErrorInfo
		frame     sessions.FrameBody
	}{
		{sessions.TurnIsCompleted, sessions.StatusIdle, nil, nil, sessions.Completed{}},
		{sessions.TurnIsCancelled, sessions.StatusIdle, nil, nil, sessions.Cancelled{}},
		{sessions.TurnIsFailed, sessions.StatusFailed, bad, bad, sessions.Failed{Error: bad}},
		{sessions.TurnIsInterrupted, sessions.StatusFailed, bad, bad, sessions.Interrupted{Error: bad}},
	} {
		t.Run(string(end.status), func(t *testing.T) {
			w := newWorld(t, f)
			key := byKey("doc", "writer")
			w.end(w.accept(w.prompt(key, "before")), sessions.TurnIsFailed, failure(sessions.CodeAgentTimeout))
			a := w.accept(w.prompt(key, "question"))
			require.NotNil(t, a.Session.LastError, "the last error stays until a turn ends well")
			w.now += minute
			done := w.end(a, end.status, end.failure)

			require.Equal(t, end.session, done.Session.Status)
			require.Equal(t, end.lastError, done.Session.LastError)
			require.Nil(t, done.Session.ActiveTurn)
			require.EqualValues(t, 2, done.Session.TurnCount)
			require.Equal(t, w.now, done.Session.LastActiveAt)
			require.Equal(t, done.Session, w.get(key))

			require.Len(t, done.Frames, 1)
			last := done.Frames[0]
			require.Equal(t, end.frame, last.Body)
			require.Equal(t, done.Session.LastFrame, last.Seq)
			require.Equal(t, a.Turn.RequestID, last.RequestID)

			want := a.Turn
			want.Status, want.Error, want.EndedAt, want.LastFrame = end.status, end.failure, w.now, last.Seq
			require.Equal(t, want, done.Turn)
			stored, err := w.store.TurnByRequest(t.Context(), a.Session.Fence.Incarnation, a.Turn.RequestID)
			require.NoError(t, err)
			require.Equal(t, want, stored)

			w.turn(key, "after", "reply")
		})
	}
	f.run(t, "the terminal frame comes after the step's own", func(t *testing.T) {
		w := newWorld(t, f)
		_, done := w.turn(byKey("doc", "writer"), "question", "reply")
		require.Len(t, done.Frames, 2)
		require.Equal(t, sessions.FrameMessage, done.Frames[0].Type())
		require.Equal(t, sessions.FrameCompleted, done.Frames[1].Type())
		require.EqualValues(t, 2, done.Turn.FinalSeq)
		require.Equal(t, 1, done.Turn.Iterations)
	})
}
