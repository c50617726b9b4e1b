package sessions_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func TestTurnMoves(t *testing.T) {
	allowed := map[sessions.TurnStatus][]sessions.TurnStatus{
		sessions.TurnIsQueued:  {sessions.TurnIsRunning, sessions.TurnIsFailed, sessions.TurnIsCancelled, sessions.TurnIsInterrupted},
		sessions.TurnIsRunning: {sessions.TurnIsWaiting, sessions.TurnIsCompleted, sessions.TurnIsFailed, sessions.TurnIsCancelled, sessions.TurnIsInterrupted},
		sessions.TurnIsWaiting: {sessions.TurnIsRunning, sessions.TurnIsFailed, sessions.TurnIsCancelled, sessions.TurnIsInterrupted},
	}
	for _, from := range append(sessions.TurnStatuses(), "", "unknown") {
		for _, to := range append(sessions.TurnStatuses(), "", "unknown") {
			require.Equal(t, slices.Contains(allowed[from], to), from.CanBecome(to), "%q to %q", from, to)
		}
	}
}

func TestTerminalTurnsMoveTheSession(t *testing.T) {
	ends := map[sessions.TurnStatus]sessions.Status{
		sessions.TurnIsCompleted:   sessions.StatusIdle,
		sessions.TurnIsCancelled:   sessions.StatusIdle,
		sessions.TurnIsFailed:      sessions.StatusFailed,
		sessions.TurnIsInterrupted: sessions.StatusFailed,
	}
	for _, s := range sessions.TurnStatuses() {
		want, terminal := ends[s]
		require.Equal(t, terminal, s.Terminal(), s)
		if !terminal {
			continue
		}
		got, err := sessions.Next(sessions.StatusRunning, s.EndTrigger())
		require.NoError(t, err)
		require.Equal(t, want, got, s)
	}
}

func TestUsagePlus(t *testing.T) {
	a := sessions.Usage{InputTokens: 1, OutputTokens: 2, CachedTokens: 3, Calls: 4}
	b := sessions.Usage{InputTokens: 10, OutputTokens: 20, CachedTokens: 30, Calls: 40}
	require.Equal(t, sessions.Usage{InputTokens: 11, OutputTokens: 22, CachedTokens: 33, Calls: 44}, a.Plus(b))
	require.Equal(t, a, a.Plus(sessions.Usage{}))
	require.Equal(t, a, a.Plus(b).Minus(b))
}
