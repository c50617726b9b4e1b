package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

const queueLimit = 16

// aside returns a prompt to a session that is busy, from the agent that runs it.
func (w *world) aside(s sessions.Session, policy sessions.BusyPolicy, text string) sessions.AcceptTurn {
	c := w.prompt(addressOf(s), text)
	c.Busy, c.QueueLimit, c.Fence = policy, queueLimit, s.Fence
	return c
}

// keep requires that a prompt to a busy session is accepted.
func (w *world) keep(s sessions.Session, policy sessions.BusyPolicy, text string) sessions.AcceptedTurn {
	w.t.Helper()
	return w.accept(w.aside(s, policy, text))
}

// startNext requires that the first queued turn starts.
func (w *world) startNext(fence sessions.Fence) sessions.AcceptedTurn {
	w.t.Helper()
	a, found, err := w.store.StartTurn(w.t.Context(), sessions.StartTurn{Fence: fence, Now: w.now})
	require.NoError(w.t, err)
	require.True(w.t, found)
	return a
}

// requireNoStart requires that there is nothing to start.
func (w *world) requireNoStart(fence sessions.Fence) {
	w.t.Helper()
	a, found, err := w.store.StartTurn(w.t.Context(), sessions.StartTurn{Fence: fence, Now: w.now})
	require.NoError(w.t, err)
	require.False(w.t, found)
	require.Equal(w.t, sessions.AcceptedTurn{}, a)
}

// withdraw requires that a request has something that waits, and ends it.
func (w *world) withdraw(fence sessions.Fence, id sessions.RequestID) sessions.WithdrawnTurn {
	w.t.Helper()
	got, found, err := w.store.WithdrawTurn(w.t.Context(), sessions.WithdrawTurn{Fence: fence, RequestID: id, ClaimTTLMs: ttl, Now: w.now})
	require.NoError(w.t, err)
	require.True(w.t, found)
	return got
}

// runQueue starts and completes turns until none is queued, and returns what was
// asked, in order.
func (w *world) runQueue(fence sessions.Fence) (texts []string) {
	w.t.Helper()
	for {
		a, found, err := w.store.StartTurn(w.t.Context(), sessions.StartTurn{Fence: fence, Now: w.now})
		require.NoError(w.t, err)
		if !found {
			return texts
		}
		texts = append(texts, sessions.TextOf(a.User.Content))
		w.commit(w.answer(a, "reply"))
	}
}

// turnAt returns a turn as it is stored.
func (w *world) turnAt(life sessions.Incarnation, id sessions.TurnID) sessions.Turn {
	w.t.Helper()
	turn, err := w.store.Turn(w.t.Context(), life, id)
	require.NoError(w.t, err)
	return turn
}

// queuedTurns returns the turns of a session that the store says are queued, in
// the order of their start.
func (w *world) queuedTurns(life sessions.Incarnation) (queued []sessions.TurnID) {
	w.t.Helper()
	busy, err := w.store.BusyTurns(w.t.Context())
	require.NoError(w.t, err)
	for _, b := range busy {
		if b.Session.Fence.Incarnation == life && b.Turn.Status == sessions.TurnIsQueued {
			queued = append(queued, b.Turn.TurnID)
		}
	}
	return queued
}

// requireGapless requires that a session's frames are numbered without gaps and
// that each turn has its own, the terminal one last.
func requireGapless(t *testing.T, frames []sessions.Frame) {
	t.Helper()
	ended := map[sessions.TurnID]bool{}
	for i, frame := range frames {
		require.EqualValues(t, i+1, frame.Seq)
		require.False(t, frame.TurnID != "" && ended[frame.TurnID], "a frame after the last one of %s", frame.TurnID)
		ended[frame.TurnID] = frame.Type().Terminal()
	}
}
