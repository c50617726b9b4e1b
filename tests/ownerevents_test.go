package tests

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/sessions"
)

// TestAnOwnersEventsTellOfEverySession follows all sessions at once, and hears
// of each change in its order.
func TestAnOwnersEventsTellOfEverySession(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	s := h.Socket()
	opened := hosttest.Result[api.SubscribeResult](t, s.Call(api.OpSubscribe, api.SubscribeArgs{}))
	require.Empty(t, opened.Cursor, "an owner's events are not kept")
	next := func() sessions.SessionChanged {
		t.Helper()
		m := s.Read()
		require.NotNil(t, m.Frame, "want an event, have %s", m.Text)
		require.Zero(t, m.Frame.Seq)
		changed, ok := m.Frame.Body.(sessions.SessionChanged)
		require.True(t, ok, "%T", m.Frame.Body)
		return changed
	}
	c := t.Context()

	made, err := h.SessionCreate(c, &api.SessionCreateArgs{Address: api.Address{SessionID: "made"}})
	require.NoError(t, err)
	require.Equal(t, sessions.SessionChanged{Change: sessions.SessionCreated, SessionID: made.Session.ID, Status: sessions.StatusCreated}, next())

	answer, err := h.Prompt(c, &api.PromptArgs{Address: api.Address{TargetKey: "k"}, Text: "hello"}, nil)
	require.NoError(t, err)
	require.Equal(t, sessions.SessionChanged{Change: sessions.SessionCreated, SessionID: answer.SessionID, Status: sessions.StatusRunning}, next())
	require.Equal(t, sessions.SessionChanged{Change: sessions.SessionUpdated, SessionID: answer.SessionID, Status: sessions.StatusIdle}, next())

	copied, err := h.SessionFork(c, &api.SessionForkArgs{Address: api.Address{TargetKey: "k"}, RequestID: "once"})
	require.NoError(t, err)
	require.Equal(t, sessions.SessionChanged{Change: sessions.SessionCreated, SessionID: copied.Session.ID, Status: copied.Session.Status}, next())
	_, err = h.SessionFork(c, &api.SessionForkArgs{Address: api.Address{TargetKey: "k"}, RequestID: "once"})
	require.NoError(t, err, "a repetition makes nothing and tells nothing")

	title := "a title"
	_, err = h.SessionUpdate(c, &api.SessionUpdateArgs{Address: api.Address{SessionID: "made"}, Title: &title})
	require.NoError(t, err)
	require.Equal(t, sessions.SessionUpdated, next().Change)

	_, err = h.SessionClose(c, &api.SessionCloseArgs{Address: api.Address{SessionID: "made"}})
	require.NoError(t, err)
	require.Equal(t, sessions.SessionChanged{Change: sessions.SessionUpdated, SessionID: "made", Status: sessions.StatusClosed}, next())

	_, err = h.SessionDelete(c, &api.SessionDeleteArgs{Address: api.Address{TargetKey: "k"}})
	require.NoError(t, err)
	require.Equal(t, sessions.SessionChanged{Change: sessions.SessionGone, SessionID: answer.SessionID}, next())

	_, err = h.SessionClearAll(c, &api.SessionClearAllArgs{})
	require.NoError(t, err)
	require.Equal(t, sessions.SessionChanged{Change: sessions.SessionGone}, next(), "all of them")

	h.Stop()
	m := s.Read()
	require.NotNil(t, m.End, "want the end, have %s", m.Text)
	require.Equal(t, api.EndStopping, m.End.Reason)
	s.Cut() // nobody reads on, and the server waits for those who may
}
