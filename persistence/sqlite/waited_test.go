package sqlite_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

// waiting is a step that lets a turn wait for two calls.
func waiting(a sessions.AcceptedTurn, seq int64) sessions.CommitTurn {
	c := step(a, seq)
	c.Wait = []sessions.Pending{{CallID: "c1", Kind: sessions.PendingClientTool, Path: "/client/pick", Args: json.RawMessage(`{"a": 1}`), Since: 1},
		{CallID: "c2", Kind: sessions.PendingApproval, Path: "/builtin/time", Args: json.RawMessage(`{}`), Since: 1}}
	return c
}

// give answers the first of the two calls.
func give(t *testing.T, s *sqlite.Store, target string) (sessions.AnsweredCalls, error) {
	t.Helper()
	return s.AnswerCalls(t.Context(), sessions.AnswerCalls{Owner: sessions.LocalOwner, At: prompt(target, "").At, Now: 2,
		Answers: []sessions.GivenAnswer{{CallID: "c1", Answer: sessions.CallAnswer{Output: json.RawMessage(`{"b":2,"a":1}`)}}}})
}

// What a kill leaves is what the files hold at that moment.
func TestAKillBetweenAnAnswerAndWhatFollowsLosesNothing(t *testing.T) {
	eachWay(t, func(t *testing.T, frames string) {
		t.Helper()
		folder, cfg := t.TempDir(), sqlite.Config{Frames: frames}
		s := open(t, filepath.Join(folder, "a.db"), cfg)
		accepted, err := s.AcceptTurn(t.Context(), prompt("k", "r"))
		require.NoError(t, err)
		_, err = s.CommitTurn(t.Context(), waiting(accepted, 2))
		require.NoError(t, err)
		answered, err := give(t, s, "k")
		require.NoError(t, err)

		left := filepath.Join(t.TempDir(), "left")
		out, err := exec.Command("cp", "-r", folder, left).CombinedOutput() // this process must not open the files again
		require.NoError(t, err, "%s", out)
		s = open(t, filepath.Join(left, "a.db"), cfg)
		require.False(t, s.ClosedCleanly())
		busy, err := s.BusyTurns(t.Context())
		require.NoError(t, err)
		require.Len(t, busy, 1)
		require.Equal(t, answered.Session, busy[0].Session)
		require.Equal(t, sessions.TurnIsWaiting, busy[0].Turn.Status)
		waited, err := s.WaitedCalls(t.Context(), accepted.Session.Fence.Incarnation, accepted.Turn.TurnID)
		require.NoError(t, err)
		require.Len(t, waited.Pending, 2)
		require.JSONEq(t, `{"a":1,"b":2}`, string(waited.Answers["c1"].Output))
		page, err := s.Frames(t.Context(), accepted.Session.Fence.Incarnation, sessions.FrameQuery{AfterSeq: answered.Frames[0].Seq - 1})
		require.NoError(t, err)
		require.Equal(t, answered.Frames, page.Frames)
		repeat, err := give(t, s, "k")
		require.NoError(t, err)
		require.True(t, repeat.Repeat)
		on := step(accepted, 3)
		on.GoOn = true
		_, err = s.CommitTurn(t.Context(), on)
		require.NoError(t, err)
	})
}

// The steps around an answer see it, though they do not read the session again.
func TestAStepSeesWhatWasAnswered(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{})
	accepted, err := s.AcceptTurn(t.Context(), prompt("k", "r"))
	require.NoError(t, err)
	step2 := waiting(accepted, 2)
	waits, err := s.CommitTurn(t.Context(), step2)
	require.NoError(t, err)
	waits.Session.Pending[1].Args[0], step2.Wait[1].Args[0] = 'x', 'x' // what is returned belongs to the caller
	answered, err := give(t, s, "k")
	require.NoError(t, err)
	answered.Session.Pending[0].Args[0] = 'x'
	queued, err := s.AcceptTurn(t.Context(), aside(accepted, "r2", sessions.BusyQueue))
	require.NoError(t, err)
	require.Len(t, queued.Session.Pending, 1)
	require.JSONEq(t, `{}`, string(queued.Session.Pending[0].Args))
	on := step(accepted, 3)
	on.GoOn, on.Now = true, waits.Turn.WaitingSince+5
	done, err := s.CommitTurn(t.Context(), on)
	require.NoError(t, err)
	require.EqualValues(t, 5, done.Turn.WaitedMs)
	require.Equal(t, answered.Session.LastFrame, done.Session.LastFrame)
	done, err = s.CommitTurn(t.Context(), step(accepted, 4))
	require.NoError(t, err)
	stored, err := s.Session(t.Context(), sessions.LocalOwner, prompt("k", "").At)
	require.NoError(t, err)
	require.Equal(t, stored, done.Session)
}

// Damage to what one session waits for is told where it is needed, and hides no
// other session.
func TestACallThatIsDamagedDamagesItsSessionAlone(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{})
	accepted, err := s.AcceptTurn(t.Context(), prompt("k", "r"))
	require.NoError(t, err)
	_, err = s.CommitTurn(t.Context(), waiting(accepted, 2))
	require.NoError(t, err)
	_, err = s.AcceptTurn(t.Context(), prompt("well", "r2"))
	require.NoError(t, err)
	_, err = s.Exec(t.Context(), "UPDATE waited_calls SET body = CAST('spoilt' AS BLOB)")
	require.NoError(t, err)

	page, err := s.Sessions(t.Context(), sessions.SessionQuery{Owner: sessions.LocalOwner})
	require.NoError(t, err)
	require.Len(t, page.Sessions, 2)
	busy, err := s.BusyTurns(t.Context())
	require.NoError(t, err)
	require.Len(t, busy, 2)
	require.Equal(t, []sessions.Pending{{CallID: "c1", Kind: sessions.PendingClientTool}, {CallID: "c2", Kind: sessions.PendingApproval}},
		busy[0].Session.Pending)
	_, err = s.WaitedCalls(t.Context(), accepted.Session.Fence.Incarnation, accepted.Turn.TurnID)
	require.Equal(t, sessions.CodeSessionDamaged, sessions.CodeOf(err))
	_, err = give(t, s, "k")
	require.Equal(t, sessions.CodeSessionDamaged, sessions.CodeOf(err))

	end := step(accepted, 3)
	end.End = &sessions.TurnEnd{Status: sessions.TurnIsFailed, Error: sessions.Errorf(sessions.CodeSessionDamaged, "Damaged.").Info()}
	done, err := s.CommitTurn(t.Context(), end)
	require.NoError(t, err)
	require.Empty(t, done.Session.Pending)
	_, err = s.AcceptTurn(t.Context(), prompt("k", "r3"))
	require.Equal(t, sessions.CodeSessionDamaged, sessions.CodeOf(err))
	_, err = s.DeleteSession(t.Context(), sessions.DeleteSession{Owner: sessions.LocalOwner, At: prompt("k", "").At, Now: 3}, nil)
	require.NoError(t, err)
}
