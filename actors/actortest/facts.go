package actortest

import (
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// Session returns the stored session and requires that there is one.
func (w *World) Session(at sessions.Address) sessions.Session {
	w.T.Helper()
	s, err := w.Store.Session(w.T.Context(), Owner, at)
	require.NoError(w.T, err)
	return s
}

// History returns the session's messages and requires that they are valid input
// of a model.
func (w *World) History(at sessions.Address) []sessions.Message {
	w.T.Helper()
	page, err := w.Store.Messages(w.T.Context(), w.Session(at).Fence.Incarnation, sessions.MessageQuery{})
	require.NoError(w.T, err)
	require.NoError(w.T, sessions.CheckPairing("/messages", page.Messages))
	return page.Messages
}

// Frames returns the session's kept frames and requires that they are numbered
// without gaps.
func (w *World) Frames(at sessions.Address) []sessions.Frame {
	w.T.Helper()
	page, err := w.Store.Frames(w.T.Context(), w.Session(at).Fence.Incarnation, sessions.FrameQuery{})
	require.NoError(w.T, err)
	for i, f := range page.Frames {
		require.Equal(w.T, int64(i+1), f.Seq)
	}
	return page.Frames
}

// Turns returns the session's turns, oldest first.
func (w *World) Turns(at sessions.Address) []sessions.Turn {
	w.T.Helper()
	page, err := w.Store.Turns(w.T.Context(), w.Session(at).Fence.Incarnation, sessions.TurnQuery{Limit: 1000})
	require.NoError(w.T, err)
	turns := make([]sessions.Turn, len(page.Turns))
	for i, turn := range page.Turns {
		turns[len(turns)-1-i] = turn
	}
	return turns
}

// Resident reports whether the session has an agent.
func (w *World) Resident(at sessions.Address) bool {
	w.T.Helper()
	return w.System.Resident(w.Session(at).Fence.Incarnation)
}

// Eventually waits until what holds.
func (w *World) Eventually(holds func() bool, what string) {
	w.T.Helper()
	require.Eventually(w.T, holds, time.Minute, time.Millisecond, what)
}

// AwaitIdle waits until no turn is busy and no agent resident.
func (w *World) AwaitIdle() {
	w.T.Helper()
	w.Eventually(func() bool {
		resident, busy := w.System.Counts()
		return resident == 0 && busy == 0
	}, "that every agent has left")
}
