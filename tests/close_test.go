package tests

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/sessions"
)

// A close in mid turn cancels the turn; whoever follows the session sees both,
// then the end.
func TestCloseInMidTurn(t *testing.T) {
	inMidTurn(t, func(h *hosttest.Host, b *bench, call caller, running <-chan outcome[*api.PromptResult]) {
		t := call.t
		s := h.Socket()
		opened := subscribe(t, s, api.SubscribeArgs{Address: atK})
		closed := hosttest.Result[api.SessionCloseResult](t, call.call(api.OpSessionClose, api.SessionCloseArgs{Address: atK, Reason: "enough"}))
		require.Equal(t, sessions.StatusClosed, closed.Session.Status)
		require.Equal(t, "enough", closed.Session.ClosedReason)
		require.Equal(t, sessions.CodeCancelled, sessions.CodeOf((<-running).err))

		_, after, err := opened.Cursor.Position("")
		require.NoError(t, err)
		end := lastFrame(t, h)
		last := readUntil(t, s, after, end)
		require.Equal(t, sessions.FrameSessionClosed, last.Type())
		m := s.Read()
		require.NotNil(t, m.End, m.Text)
		require.Equal(t, api.End{Reason: api.EndClosed, Cursor: last.Cursor}, *m.End)

		require.Equal(t, sessions.CodeSessionClosed, hosttest.Code(call.prompt("k", "more")))
		h.Restart()
		require.Equal(t, sessions.CodeSessionClosed, hosttest.Code(call.prompt("k", "more")))
		requireInOrder(t, h, "k", "work")
	})
}

// A detach frees the session at once, though the tool goes on for a while.
func TestDetachInMidTurn(t *testing.T) {
	inMidTurn(t, func(h *hosttest.Host, b *bench, call caller, running <-chan outcome[*api.PromptResult]) {
		t := call.t
		freed := hosttest.Result[api.SessionDetachResult](t, call.call(api.OpSessionDetach, api.SessionDetachArgs{Address: atK}))
		require.Equal(t, sessions.StatusIdle, freed.Session.Status)
		require.Equal(t, sessions.CodeCancelled, sessions.CodeOf((<-running).err))
		require.Equal(t, "fine", call.mustPrompt("k", "and now?"))
		turns := turnsOf(t, h)
		require.Equal(t, sessions.TurnIsInterrupted, turns[1].Status)
		require.Equal(t, sessions.CodeCancelled, turns[1].Error.Code)
	})
}
