package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

// A model must not get a summary that is not the one which was stored.
func TestASummaryThatFailsItsChecksumDamagesItsSession(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{})
	require.NoError(t, accepting(t, s, "r")())
	turns, err := s.BusyTurns(t.Context())
	require.NoError(t, err)
	session := turns[0].Session
	_, err = s.CommitTurn(t.Context(), sessions.CommitTurn{Fence: session.Fence, TurnID: turns[0].Turn.TurnID,
		RequestID: turns[0].Turn.RequestID, Summary: sessions.Summary{ThroughSeq: 1, Text: "They met."}, Now: 1})
	require.NoError(t, err)
	n, err := s.Exec(t.Context(), "UPDATE session_summaries SET body = CAST('They left.' AS BLOB)")
	require.NoError(t, err)
	require.EqualValues(t, 1, n)

	_, err = s.Summary(t.Context(), session.Fence.Incarnation)
	require.Equal(t, sessions.CodeSessionDamaged, sessions.CodeOf(err))
	marked, err := s.Session(t.Context(), sessions.LocalOwner, sessions.Address{ID: session.ID})
	require.NoError(t, err)
	require.Equal(t, sessions.CodeSessionDamaged, marked.LastError.Code)
}
