package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

// step is a commit that leaves the turn running.
func step(a sessions.AcceptedTurn, seq int64) sessions.CommitTurn {
	c := answer(a, "step")
	c.Messages[0].Seq = seq
	c.Frames, c.End = nil, nil
	return c
}

func TestAStepSeesWhatOthersWroteSinceTheStepBefore(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{})
	accepted, err := s.AcceptTurn(t.Context(), prompt("k", "r"))
	require.NoError(t, err)
	title := "renamed in mid turn"
	_, err = s.UpdateSession(t.Context(), sessions.UpdateSession{Owner: sessions.LocalOwner,
		At: sessions.Address{ID: accepted.Session.ID}, Title: &title, Labels: map[string]string{"a": "b"}, Now: 1})
	require.NoError(t, err)

	committed, err := s.CommitTurn(t.Context(), step(accepted, 2))
	require.NoError(t, err)
	require.Equal(t, title, committed.Session.Title)
	require.Equal(t, map[string]string{"a": "b"}, committed.Session.Labels)

	committed.Session.Labels["a"] = "the caller's" // what is returned belongs to the caller
	committed, err = s.CommitTurn(t.Context(), step(accepted, 3))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "b"}, committed.Session.Labels)

	_, err = s.DeleteSession(t.Context(), sessions.DeleteSession{Owner: sessions.LocalOwner,
		At: sessions.Address{ID: accepted.Session.ID}, Now: 2}, nil)
	require.NoError(t, err)
	_, err = s.CommitTurn(t.Context(), step(accepted, 4))
	require.ErrorIs(t, err, sessions.ErrFenced)
}

func TestAStepSeesNothingOfABatchThatWasTakenBack(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{})
	accepted, err := s.AcceptTurn(t.Context(), prompt("k", "r"))
	require.NoError(t, err)
	release := held(t, s)
	var group sync.WaitGroup
	var stepped, failed error
	group.Go(func() { _, stepped = s.CommitTurn(t.Context(), step(accepted, 2)) })
	s.AwaitQueued(1) // the step comes first, and the job behind it fails both
	group.Go(func() { failed = s.Job(t.Context(), func() error { return errors.New("no refusal") }) })
	s.AwaitQueued(2)
	release()
	group.Wait()
	require.NoError(t, stepped)
	require.Error(t, failed)

	refused := step(accepted, 7)
	_, err = s.CommitTurn(t.Context(), refused)
	require.Error(t, err)
	committed, err := s.CommitTurn(t.Context(), step(accepted, 3))
	require.NoError(t, err)
	require.EqualValues(t, 3, committed.Session.MessageCount)
	require.EqualValues(t, 2, committed.Turn.Usage.Calls)

	end := answer(accepted, "done")
	end.Messages[0].Seq, end.End.FinalSeq, end.Frames = 4, 4, nil
	_, err = s.CommitTurn(t.Context(), end)
	require.NoError(t, err)
	_, err = s.CommitTurn(t.Context(), step(accepted, 5))
	require.ErrorIs(t, err, sessions.ErrTurnEnded)
}

// fenced is a prompt of the activation that a commit was of.
func fenced(c sessions.CommittedTurn, target, request string) sessions.AcceptTurn {
	a := prompt(target, request)
	a.Fence = c.Session.Fence
	return a
}

func TestAPromptSeesWhatOthersWroteSinceTheTurnBefore(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{})
	accepted, err := s.AcceptTurn(t.Context(), prompt("k", "r1"))
	require.NoError(t, err)
	ended, err := s.CommitTurn(t.Context(), answer(accepted, "one"))
	require.NoError(t, err)

	second, err := s.AcceptTurn(t.Context(), fenced(ended, "k", "r2"))
	require.NoError(t, err)
	require.EqualValues(t, 3, second.User.Seq)
	_, err = s.AcceptTurn(t.Context(), fenced(ended, "k", "r3"))
	require.Equal(t, sessions.CodeAgentBusy, sessions.CodeOf(err))
	ended, err = s.CommitTurn(t.Context(), answer(second, "two"))
	require.NoError(t, err)

	other := fenced(ended, "another key", "r4")
	_, err = s.AcceptTurn(t.Context(), other)
	require.ErrorIs(t, err, sessions.ErrFenced, "the address decides, not the fence")

	seeded, err := s.SeedSession(t.Context(), sessions.SeedSession{Owner: sessions.LocalOwner, At: prompt("k", "").At, Now: 1,
		Messages: []sessions.Message{{Role: sessions.RoleUser, Content: sessions.Text("seeded")}}})
	require.NoError(t, err)
	require.EqualValues(t, 5, seeded.Session.MessageCount)
	third, err := s.AcceptTurn(t.Context(), fenced(ended, "k", "r5"))
	require.NoError(t, err)
	require.EqualValues(t, 6, third.User.Seq)
	ended, err = s.CommitTurn(t.Context(), answer(third, "three"))
	require.NoError(t, err)

	_, err = s.DeleteSession(t.Context(), sessions.DeleteSession{Owner: sessions.LocalOwner, At: prompt("k", "").At, Now: 2}, nil)
	require.NoError(t, err)
	_, err = s.AcceptTurn(t.Context(), fenced(ended, "k", "r6"))
	require.ErrorIs(t, err, sessions.ErrFenced)
}

func TestMoreSessionsThanAreRememberedGoOn(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{Durability: sqlite.DurabilityProcess})
	const count = 1200
	first := make([]sessions.AcceptedTurn, count)
	for i := range first {
		var err error
		first[i], err = s.AcceptTurn(t.Context(), prompt(fmt.Sprint("k", i), fmt.Sprint("r", i)))
		require.NoError(t, err)
	}
	for i, accepted := range first {
		ended, err := s.CommitTurn(t.Context(), answer(accepted, "one"))
		require.NoError(t, err)
		next, err := s.AcceptTurn(t.Context(), fenced(ended, fmt.Sprint("k", i), fmt.Sprint("again", i)))
		require.NoError(t, err)
		require.EqualValues(t, 3, next.User.Seq)
	}
}

func TestAQueuedPromptSeesWhatOthersWroteSinceTheTurnBegan(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{})
	accepted, err := s.AcceptTurn(t.Context(), prompt("k", "r1"))
	require.NoError(t, err)
	title := "renamed in mid turn"
	_, err = s.UpdateSession(t.Context(), sessions.UpdateSession{Owner: sessions.LocalOwner, At: prompt("k", "").At, Title: &title, Now: 1})
	require.NoError(t, err)
	queued, err := s.AcceptTurn(t.Context(), aside(accepted, "r2", sessions.BusyQueue))
	require.NoError(t, err)
	require.Equal(t, title, queued.Session.Title)
	ended, err := s.CommitTurn(t.Context(), answer(accepted, "one"))
	require.NoError(t, err)
	require.EqualValues(t, 1, ended.Session.Queued)

	seeded := sessions.SeedSession{Owner: sessions.LocalOwner, At: prompt("k", "").At, Now: 1,
		Messages: []sessions.Message{{Role: sessions.RoleUser, Content: sessions.Text("seeded")}}}
	_, err = s.SeedSession(t.Context(), seeded)
	require.Equal(t, sessions.CodeAgentBusy, sessions.CodeOf(err))
	title = "renamed while a turn is queued"
	_, err = s.UpdateSession(t.Context(), sessions.UpdateSession{Owner: sessions.LocalOwner, At: prompt("k", "").At, Title: &title, Now: 2})
	require.NoError(t, err)
	started, found, err := s.StartTurn(t.Context(), sessions.StartTurn{Fence: ended.Session.Fence, Now: 3})
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, title, started.Session.Title)
	require.EqualValues(t, 3, started.User.Seq)

	_, err = s.DeleteSession(t.Context(), sessions.DeleteSession{Owner: sessions.LocalOwner, At: prompt("k", "").At, Now: 4}, nil)
	require.NoError(t, err)
	_, err = s.AcceptTurn(t.Context(), aside(accepted, "r3", sessions.BusyQueue))
	require.Equal(t, sessions.ErrFenced, err)
}
