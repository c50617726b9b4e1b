package actors_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/actors/feed"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

func closeSession(t *testing.T, w *actortest.World, at sessions.Address, reason string) sessions.Session {
	t.Helper()
	s, err := w.System.Close(t.Context(), actors.Close{Owner: actortest.Owner, At: at, Reason: reason})
	require.NoError(t, err)
	return s
}

func TestCloseAnIdleSession(t *testing.T) {
	w := world(t, script(), nil)
	at := actortest.Key("a")
	w.Say(at, "hello", actortest.As("r"))
	sub := w.System.Feed().Subscribe(actortest.Owner, w.Session(at).Fence.Incarnation, 0)
	defer sub.Close()
	s := closeSession(t, w, at, "done with it")
	require.Equal(t, sessions.StatusClosed, s.Status)
	require.Equal(t, feed.Closed, nextEnd(t, sub))
	w.Send(at, "again").Failed(sessions.CodeSessionClosed)
	require.True(t, w.Send(at, "hello", actortest.As("r")).Reply().Duplicate)
	require.Equal(t, s, closeSession(t, w, at, "another reason"))
	require.EqualValues(t, 1, w.Delete(at).Receipt.Sessions)
	require.Equal(t, "fine", w.Say(at, "anew"))
}

func TestCloseInMidTurn(t *testing.T) {
	started := make(chan struct{}, 1)
	w := world(t, script(calls("/t/hang")), mounts{"/t/hang": hang(started)})
	at := actortest.Key("a")
	call := w.Send(at, "work")
	<-started
	require.Equal(t, sessions.StatusClosed, closeSession(t, w, at, "").Status)
	call.Failed(sessions.CodeCancelled)
	requireResultOfEach(t, w, at, 1)
	w.Send(at, "again").Failed(sessions.CodeSessionClosed)
	_, busy := w.System.Counts()
	require.Zero(t, busy)
}

// A session that is not resident can be closed, and what races with a close is
// either answered or refused.
func TestCloseAnEvictedSession(t *testing.T) {
	w := world(t, script(), nil, shortTTL)
	at := actortest.Key("a")
	w.Say(at, "hello")
	w.AwaitIdle()
	call := w.Send(at, "hello")
	require.Equal(t, sessions.StatusClosed, closeSession(t, w, at, "").Status)
	if r := call.Reply(); r.Err != nil {
		require.Contains(t, []sessions.Code{sessions.CodeCancelled, sessions.CodeSessionClosed}, r.Err.Code)
	}
	w.AwaitIdle()
	w.Send(at, "again").Failed(sessions.CodeSessionClosed)
	_, err := w.System.Close(t.Context(), actors.Close{Owner: actortest.Owner, At: actortest.ID("nobody")})
	require.Equal(t, sessions.CodeSessionNotFound, sessions.CodeOf(err))
}

func TestDetach(t *testing.T) {
	w := world(t, script(scripted.Step{Text: "half", Hang: true}), nil)
	at := actortest.Key("a")
	call := w.Send(at, "work")
	call.Accepted()
	s, err := w.System.Detach(t.Context(), actors.Detach{Owner: actortest.Owner, At: at})
	require.NoError(t, err)
	require.Equal(t, sessions.StatusIdle, s.Status)
	r := call.Failed(sessions.CodeCancelled)
	require.Equal(t, sessions.TurnIsInterrupted, r.Turn.Status)
	require.Equal(t, "fine", w.Say(at, "go on"))
	again, err := w.System.Detach(t.Context(), actors.Detach{Owner: actortest.Owner, At: at})
	require.NoError(t, err)
	require.Equal(t, sessions.StatusIdle, again.Status)
	require.Equal(t, "fine", w.Say(at, "and on"))
}
