package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

// prompt is a prompt to a key that would be accepted.
func prompt(target, request string) sessions.AcceptTurn {
	return sessions.AcceptTurn{Owner: sessions.LocalOwner,
		At:      sessions.Address{Key: sessions.Key{Target: target, Profile: sessions.DefaultProfile}},
		Request: sessions.Request{ID: sessions.RequestID(request), TTLMs: 60_000},
		TurnID:  sessions.TurnID("turn-" + request), NewID: sessions.SessionID("session-" + target),
		Content: sessions.Text("question"), Admitted: true, Now: 1_750_000_000_000}
}

// answer completes an accepted turn.
func answer(a sessions.AcceptedTurn, text string) sessions.CommitTurn {
	m := sessions.Message{Seq: a.Session.MessageCount + 1, Role: sessions.RoleAssistant, Content: sessions.Text(text)}
	return sessions.CommitTurn{Fence: a.Session.Fence, TurnID: a.Turn.TurnID, RequestID: a.Turn.RequestID,
		Messages: []sessions.Message{m}, Frames: []sessions.FrameBody{sessions.MessageAppended{Message: m}},
		Usage: sessions.Usage{Calls: 1}, Model: "m", Iterations: 1, Now: a.Turn.StartedAt + 5,
		End: &sessions.TurnEnd{Status: sessions.TurnIsCompleted, FinalSeq: m.Seq, ClaimTTLMs: 60_000}}
}

// held stops the writer inside a job until release is called, so that what is
// sent meanwhile waits in the queue together.
func held(t *testing.T, s *sqlite.Store) (release func()) {
	t.Helper()
	started, finish, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	go func() {
		done <- s.Job(context.Background(), func() error {
			once.Do(func() { close(started) })
			<-finish
			return nil
		})
	}()
	<-started
	return sync.OnceFunc(func() {
		close(finish)
		require.NoError(t, <-done)
	})
}

// together runs calls so that they are one batch of the writer, in any order.
func together(t *testing.T, s *sqlite.Store, calls ...func() error) []error {
	t.Helper()
	release := held(t, s)
	errs := make([]error, len(calls))
	var group sync.WaitGroup
	for i, call := range calls {
		group.Go(func() { errs[i] = call() })
	}
	s.AwaitQueued(len(calls))
	release()
	group.Wait()
	return errs
}

func accepting(t *testing.T, s *sqlite.Store, target string) func() error {
	t.Helper()
	return func() error {
		_, err := s.AcceptTurn(t.Context(), prompt(target, target))
		return err
	}
}

func TestOnlyTheBadJobOfABatchFails(t *testing.T) {
	for name, bad := range map[string]func(*sqlite.Store) error{
		"a statement fails": func(s *sqlite.Store) error {
			_, err := s.Exec(context.Background(), "INSERT INTO turns (num) VALUES (1)")
			return err
		},
		"a statement is malformed": func(s *sqlite.Store) error { _, err := s.Exec(context.Background(), "SELEKT"); return err },
		"a job answers an error of its own": func(s *sqlite.Store) error {
			return s.Job(context.Background(), func() error { return errors.New("a driver would say this") })
		},
		"a job panics": func(s *sqlite.Store) error {
			return s.Job(context.Background(), func() error { panic("a fault in a job") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{})
			errs := together(t, s, accepting(t, s, "a"), func() error { return bad(s) }, accepting(t, s, "b"), accepting(t, s, "c"))
			require.NoError(t, errs[0])
			require.Equal(t, sessions.CodeStoreUnavailable, sessions.CodeOf(errs[1]))
			require.NoError(t, errs[2])
			require.NoError(t, errs[3])
			busy, err := s.BusyTurns(t.Context())
			require.NoError(t, err)
			require.Len(t, busy, 3)
			require.NoError(t, accepting(t, s, "later")(), "the writer goes on")
		})
	}
}

func TestARefusalCostsItsBatchNothing(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{})
	require.NoError(t, accepting(t, s, "busy")())
	before := s.Batches()
	errs := together(t, s, accepting(t, s, "a"), func() error {
		_, err := s.AcceptTurn(t.Context(), prompt("busy", "another"))
		return err
	}, accepting(t, s, "b"))
	require.NoError(t, errs[0])
	require.Equal(t, sessions.CodeAgentBusy, sessions.CodeOf(errs[1]))
	require.NoError(t, errs[2])
	require.Equal(t, before+2, s.Batches(), "one for the job that held the writer, one for the three")
}

func TestARefusalThatWroteIsTakenBack(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{})
	errs := together(t, s, accepting(t, s, "a"), func() error {
		return s.WriteAndRefuse(context.Background(), "UPDATE host SET checks = 1000")
	})
	require.NoError(t, errs[0])
	require.Equal(t, sessions.CodeConflict, sessions.CodeOf(errs[1]))
	rows, err := s.Rows(t.Context())
	require.NoError(t, err)
	require.Contains(t, rows["host"][0], "checks=0;")
}

func TestAFullQueueIsOverloaded(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{QueueLimit: 2})
	release := held(t, s)
	var group sync.WaitGroup
	errs := make([]error, 2)
	for i := range errs {
		group.Go(func() { errs[i] = accepting(t, s, fmt.Sprint(i))() })
	}
	s.AwaitQueued(2)
	require.Equal(t, sessions.CodeOverloaded, sessions.CodeOf(accepting(t, s, "one too many")()))
	release()
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	require.NoError(t, accepting(t, s, "one too many")())
}

func TestACallerThatStopsWaitingLearnsNothing(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{})
	release := held(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.AcceptTurn(ctx, prompt("a", "a"))
		done <- err
	}()
	s.AwaitQueued(1)
	cancel()
	require.ErrorIs(t, <-done, sessions.ErrOutcomeUnknown)
	release()
	// It has landed all the same, and the same request finds it.
	again, err := s.AcceptTurn(t.Context(), prompt("a", "a"))
	require.NoError(t, err)
	require.True(t, again.Duplicate)
}

func TestADeleteGoesOnWithoutItsCaller(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{})
	require.NoError(t, accepting(t, s, "a")())
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	receipt, err := s.DeleteSession(ctx, sessions.DeleteSession{Owner: sessions.LocalOwner, At: prompt("a", "a").At, Now: 1},
		func([]sessions.DeletedSession) {
			cancel()
			<-release
		})
	require.NoError(t, err)
	require.False(t, receipt.Complete)
	require.EqualValues(t, 1, receipt.Sessions)
	close(release)
	require.NoError(t, s.Close(), "close waits for the removal, or leaves the rest to the next sweep")
}
