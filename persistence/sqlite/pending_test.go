package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

// aside is a prompt to the session of a turn that is active.
func aside(active sessions.AcceptedTurn, request string, policy sessions.BusyPolicy) sessions.AcceptTurn {
	c := prompt(active.Session.TargetKey, request)
	c.Fence, c.Busy, c.QueueLimit = active.Session.Fence, policy, 16
	return c
}

const spoilPrompts = "UPDATE pending_prompts SET body = CAST('spoilt' AS BLOB)"

// A prompt whose stored body is damaged never runs, but its caller has an answer.
func TestAQueuedPromptThatIsDamagedCanBeWithdrawn(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{})
	active, err := s.AcceptTurn(t.Context(), prompt("k", "r1"))
	require.NoError(t, err)
	queued, err := s.AcceptTurn(t.Context(), aside(active, "r2", sessions.BusyQueue))
	require.NoError(t, err)
	_, err = s.CommitTurn(t.Context(), answer(active, "one"))
	require.NoError(t, err)
	_, err = s.Exec(t.Context(), spoilPrompts)
	require.NoError(t, err)

	start := sessions.StartTurn{Fence: active.Session.Fence, Now: 1}
	_, _, err = s.StartTurn(t.Context(), start)
	require.Equal(t, sessions.CodeSessionDamaged, sessions.CodeOf(err))
	marked, err := s.Session(t.Context(), sessions.LocalOwner, prompt("k", "").At)
	require.NoError(t, err)
	require.Equal(t, sessions.StatusFailed, marked.Status)
	require.Equal(t, sessions.CodeSessionDamaged, marked.LastError.Code)
	_, _, err = s.StartTurn(t.Context(), start)
	require.Equal(t, sessions.CodeSessionDamaged, sessions.CodeOf(err))

	ended, found, err := s.WithdrawTurn(t.Context(), sessions.WithdrawTurn{Fence: active.Session.Fence, RequestID: "r2",
		Failure: marked.LastError, ClaimTTLMs: 1000, Now: 2})
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, queued.Turn.TurnID, ended.Turn.TurnID)
	require.Equal(t, sessions.TurnIsFailed, ended.Turn.Status)
	_, found, err = s.StartTurn(t.Context(), start)
	require.NoError(t, err)
	require.False(t, found)
}

// Text that is damaged is not read, and does not keep its turn from ending.
func TestTextThatIsDamagedIsNotRead(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{})
	active, err := s.AcceptTurn(t.Context(), prompt("k", "r1"))
	require.NoError(t, err)
	_, err = s.AcceptTurn(t.Context(), aside(active, "r2", sessions.BusySteer))
	require.NoError(t, err)
	_, err = s.Exec(t.Context(), spoilPrompts)
	require.NoError(t, err)
	c := step(active, 2)
	c.Steer = true
	_, err = s.CommitTurn(t.Context(), c)
	require.Equal(t, sessions.CodeSessionDamaged, sessions.CodeOf(err))
	messages, err := s.Messages(t.Context(), active.Session.Fence.Incarnation, sessions.MessageQuery{})
	require.NoError(t, err)
	require.Len(t, messages.Messages, 1, "nothing of the step is stored")
	end := step(active, 2)
	damaged := sessions.Errorf(sessions.CodeSessionDamaged, "A stored body fails its checksum.").Info()
	end.End = &sessions.TurnEnd{Status: sessions.TurnIsFailed, Error: damaged, ClaimTTLMs: 1000}
	done, err := s.CommitTurn(t.Context(), end)
	require.NoError(t, err)
	require.Len(t, done.Queued, 1)
}
