package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// retry returns a retry of the session's last turn, or of the one named.
func (w *world) retry(at sessions.Address, turn sessions.TurnID) sessions.AcceptTurn {
	c := w.prompt(at, "retry")
	c.Content, c.Retry = nil, &turn
	return c
}

func testRetry(t *testing.T, f Factory) {
	key := byKey("doc", "writer")
	for _, status := range []sessions.TurnStatus{sessions.TurnIsFailed, sessions.TurnIsCancelled, sessions.TurnIsInterrupted} {
		t.Run("a turn that is "+string(status), func(t *testing.T) {
			w := newWorld(t, f)
			first := w.accept(w.prompt(key, "question"))
			w.end(first, status, failure(sessions.CodeLLMAPIFailure))
			again := w.accept(w.retry(key, first.Turn.TurnID))
			require.Nil(t, again.User)
			require.Equal(t, first.Turn.UserSeq, again.Turn.UserSeq)
			require.Len(t, again.Frames, 2)
			require.Len(t, w.history(again.Session.Fence.Incarnation), 1, "the user message is there once")
			require.Equal(t, "question", again.Session.Preview)
			done := w.commit(w.answer(again, "reply"))
			require.Equal(t, sessions.StatusIdle, done.Session.Status)
			require.EqualValues(t, 2, done.Session.TurnCount)
			require.Len(t, w.history(again.Session.Fence.Incarnation), 2)
		})
	}
	f.run(t, "what cannot be retried", func(t *testing.T) {
		w := newWorld(t, f)
		refuse := func(code sessions.Code, c sessions.AcceptTurn) {
			t.Helper()
			_, err := w.store.AcceptTurn(t.Context(), c)
			requireCode(t, code, err)
		}
		refuse(sessions.CodeSessionNotFound, w.retry(byID("nobody"), ""))
		refuse(sessions.CodeSessionNotFound, w.retry(byKey("nobody", "writer"), ""))
		s := w.session()
		refuse(sessions.CodeConflict, w.retry(addressOf(s), ""))
		failed := w.accept(w.prompt(addressOf(s), "question"))
		refuse(sessions.CodeAgentBusy, w.retry(addressOf(s), ""))
		w.end(failed, sessions.TurnIsFailed, failure(sessions.CodeAgentTimeout))
		w.turn(addressOf(s), "later", "reply")
		refuse(sessions.CodeConflict, w.retry(addressOf(s), failed.Turn.TurnID))
		refuse(sessions.CodeConflict, w.retry(addressOf(s), ""))
	})
	f.run(t, "a repeat of a retry joins it", func(t *testing.T) {
		w := newWorld(t, f)
		w.end(w.accept(w.prompt(key, "question")), sessions.TurnIsFailed, failure(sessions.CodeAgentTimeout))
		c := w.retry(key, "")
		a := w.accept(c)
		require.Equal(t, a.Turn, w.repeat(c).Turn)
	})
}

// testResume takes a turn up again after a stop of the host.
func testResume(t *testing.T, f Factory) {
	w := newWorld(t, f)
	key := byKey("doc", "writer")
	a := w.accept(w.prompt(key, "question"))
	c := w.step(a)
	c.Resume = &sessions.TurnResume{Attempts: 2, AwayMs: 3 * minute}
	require.Zero(t, a.Turn.ResumedAt)
	resumed := w.commit(c)
	require.EqualValues(t, 3*minute, resumed.Turn.WaitedMs)
	require.Equal(t, c.Now, resumed.Turn.ResumedAt)
	require.Equal(t, resumed.Turn, w.turnAt(a.Session.Fence.Incarnation, a.Turn.TurnID))
	require.Equal(t, 2, resumed.Turn.Attempts)
	require.Equal(t, a.Session.Fence.Epoch+1, resumed.Session.Fence.Epoch)
	require.Equal(t, resumed.Session, w.get(key))
	w.requireNothing(w.answer(a, "of the activation before"), sessions.ErrFenced)

	done := w.commit(w.answer(sessions.AcceptedTurn{Session: resumed.Session, Turn: resumed.Turn}, "reply"))
	require.Equal(t, 2, done.Turn.Attempts)
	require.Equal(t, resumed.Session.Fence, done.Session.Fence)
}
