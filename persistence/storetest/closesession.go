package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// close closes a session at a time after everything before it.
func (w *world) close(at sessions.Address, reason string) (sessions.ClosedSession, error) {
	w.now += minute
	return w.store.CloseSession(w.t.Context(), sessions.CloseSession{Owner: owner, At: at, Reason: reason, Now: w.now})
}

func testCloseSession(t *testing.T, f Factory) {
	f.run(t, "what becomes of the session", func(t *testing.T) { closeIdle(t, f) })
	f.run(t, "what a closed session takes and refuses", func(t *testing.T) { closeRefuses(t, f) })
	f.run(t, "one that has had no turn", func(t *testing.T) {
		w := newWorld(t, f)
		s := w.session()
		done, err := w.close(addressOf(s), "")
		require.NoError(t, err)
		require.Equal(t, sessions.StatusClosed, done.Session.Status)
		require.Equal(t, done.Frames, w.frames(s.Fence.Incarnation))
	})
	f.run(t, "not in mid turn", func(t *testing.T) {
		w := newWorld(t, f)
		a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		_, err := w.close(addressOf(a.Session), "")
		requireCode(t, sessions.CodeAgentBusy, err)
		require.Equal(t, a.Turn.TurnID, sessions.AsError(err).Details["turnId"])
		require.Equal(t, a.Session, w.get(addressOf(a.Session)))
		w.commit(w.answer(a, "reply"))
	})
	f.run(t, "an unknown session is not found", func(t *testing.T) {
		_, err := newWorld(t, f).close(byID("nobody"), "")
		requireCode(t, sessions.CodeSessionNotFound, err)
	})
}

func closeIdle(t *testing.T, f Factory) {
	w := newWorld(t, f)
	key := byKey("doc", "writer")
	_, last := w.turn(key, "question", "reply")
	life := last.Session.Fence.Incarnation
	done, err := w.close(key, "enough")
	require.NoError(t, err)

	want := last.Session
	want.Status, want.ClosedAt, want.ClosedReason = sessions.StatusClosed, w.now, "enough"
	want.Fence.Epoch++
	want.LastFrame++
	require.Equal(t, want, done.Session)
	require.Equal(t, want, w.get(key))
	frame := sessions.Frame{Seq: want.LastFrame, Cursor: sessions.CursorAt(life, want.LastFrame), At: w.now, Body: sessions.Closed{}}
	require.Equal(t, []sessions.Frame{frame}, done.Frames)
	frames := w.frames(life)
	require.Equal(t, frame, frames[len(frames)-1])

	again, err := w.close(key, "another reason")
	require.NoError(t, err)
	require.Equal(t, sessions.ClosedSession{Session: want}, again, "a second close changes nothing")
	require.Equal(t, want, w.get(key))
	if f.Reopen != nil {
		w.reopen()
		require.Equal(t, want, w.get(key))
		require.Equal(t, frames, w.frames(life))
	}
}

func closeRefuses(t *testing.T, f Factory) {
	w := newWorld(t, f)
	key := byKey("doc", "writer")
	c := w.prompt(key, "question")
	a := w.accept(c)
	w.end(a, sessions.TurnIsFailed, failure(sessions.CodeLLMAPIFailure))
	closed, err := w.close(key, "")
	require.NoError(t, err)
	history := w.history(a.Session.Fence.Incarnation)

	_, err = w.store.AcceptTurn(t.Context(), w.prompt(key, "more"))
	requireCode(t, sessions.CodeSessionClosed, err)
	_, err = w.store.AcceptTurn(t.Context(), w.retry(key, ""))
	requireCode(t, sessions.CodeSessionClosed, err)
	_, err = w.store.SeedSession(t.Context(), w.seed(key))
	requireCode(t, sessions.CodeSessionClosed, err)
	_, err = w.set(key, "x", `1`, nil)
	requireCode(t, sessions.CodeSessionClosed, err)
	require.Equal(t, closed.Session, w.get(key))
	require.Equal(t, history, w.history(a.Session.Fence.Incarnation))

	require.Equal(t, a.Turn.TurnID, w.repeat(c).Turn.TurnID, "what was asked before has its answer")
	made, err := w.store.CreateSession(t.Context(), sessions.CreateSession{Owner: owner, At: key, NewID: "other", Profile: "writer", Now: w.now})
	require.NoError(t, err)
	require.Equal(t, sessions.CreatedSession{Session: closed.Session}, made, "its key stays taken")
	title := "a title"
	renamed, err := w.store.UpdateSession(t.Context(), sessions.UpdateSession{Owner: owner, At: key, Title: &title, Now: w.now})
	require.NoError(t, err)
	require.Equal(t, title, renamed.Title)
	w.remove(key)
	w.turn(key, "anew", "reply")
}

// testDetach ends turns so that their session is free of them.
func testDetach(t *testing.T, f Factory) {
	w := newWorld(t, f)
	key := byKey("doc", "writer")
	c := w.prompt(key, "question")
	a := w.accept(c)
	cut := failure(sessions.CodeCancelled)
	end := w.step(a)
	end.End = &sessions.TurnEnd{Status: sessions.TurnIsInterrupted, Error: cut, ClaimTTLMs: ttl, Detached: true}
	done := w.commit(end)
	require.Equal(t, sessions.StatusIdle, done.Session.Status)
	require.Nil(t, done.Session.LastError)
	require.Equal(t, a.Session.Fence.Epoch+1, done.Session.Fence.Epoch)
	require.Equal(t, sessions.Interrupted{Error: cut}, done.Frames[0].Body)
	require.Equal(t, sessions.TurnIsInterrupted, done.Turn.Status)
	require.Equal(t, done.Session, w.get(key))

	late := w.answer(a, "late")
	w.requireNothing(late, sessions.ErrFenced)
	require.Equal(t, done.Turn, w.repeat(c).Turn)
	next := w.prompt(key, "next")
	next.Fence = done.Session.Fence
	w.commit(w.answer(w.accept(next), "reply"))
}
