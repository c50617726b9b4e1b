package tests

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// slowStore lets a test hold up some calls of a store.
type slowStore struct {
	sessions.Store
	beforeAccept func(sessions.AcceptTurn)
	afterAccept  func(sessions.AcceptTurn)
	beforeResume func()
}

func (s *slowStore) AcceptTurn(ctx context.Context, c sessions.AcceptTurn) (sessions.AcceptedTurn, error) {
	if s.beforeAccept != nil {
		s.beforeAccept(c)
	}
	accepted, err := s.Store.AcceptTurn(ctx, c)
	if s.afterAccept != nil {
		s.afterAccept(c)
	}
	return accepted, err
}

func (s *slowStore) CommitTurn(ctx context.Context, c sessions.CommitTurn) (sessions.CommittedTurn, error) {
	if c.Resume != nil && s.beforeResume != nil {
		s.beforeResume()
	}
	return s.Store.CommitTurn(ctx, c)
}

// gated is a host whose model holds "work" up until gate is closed, over a
// store whose calls a test can hold up after a restart.
func gated(t *testing.T) (h *hosttest.Host, gate chan struct{}, slow *slowStore) {
	t.Helper()
	gate, slow = make(chan struct{}), &slowStore{}
	o := newBench(when("work", scripted.Step{Gate: gate, Text: "done"})).options(t, host.Profile{})
	o.WrapStore = func(store sessions.Store) sessions.Store {
		slow.Store = store
		return slow
	}
	return hosttest.New(t, o), gate, slow
}

// acceptWork starts the turn "work", which the next host then takes up.
func acceptWork(t *testing.T, h *hosttest.Host) {
	t.Helper()
	args := work()
	args.Wait = api.WaitAccepted
	_, err := h.Client.Prompt(t.Context(), args, nil)
	require.NoError(t, err)
}

// A repeated prompt whose turn ends while the store is asked about it has the
// turn's end, also when the turn was begun by another host.
func TestRepeatedPromptMeetsTheEndOfATurnTakenUp(t *testing.T) {
	h, gate, slow := gated(t)
	acceptWork(t, h)
	asked, release := make(chan struct{}), make(chan struct{})
	var calls atomic.Int64
	slow.afterAccept = func(sessions.AcceptTurn) { // one at a time: the agent asks one question after another
		if calls.Add(1) == 2 {
			close(asked)
			<-release
		}
	}
	h.Restart()
	repeat := func() (*api.PromptResult, error) { return h.Client.Prompt(t.Context(), work(), nil) }
	// The first one has joined the turn when an accepted one after it is answered.
	first := background(repeat)
	require.Eventually(t, func() bool {
		got, err := h.Client.SessionGet(context.WithoutCancel(t.Context()), api.SessionGetArgs{Address: atK})
		return err == nil && got.Session.Status == sessions.StatusRunning && calls.Load() >= 1
	}, hosttest.Patience, eventTick)
	second := background(repeat)
	<-asked // the store has said that the turn runs
	close(gate)
	one := <-first
	require.NoError(t, one.err)
	close(release)
	two := <-second
	require.NoError(t, two.err)
	sameAnswer(t, *one.value, *two.value)
}

// A prompt that was on its way while the turn of the last host was taken up is
// not taken for one to a session that is gone.
func TestPromptOnItsWayWhileATurnIsTakenUp(t *testing.T) {
	h, gate, slow := gated(t)
	acceptWork(t, h)
	asked, release, resume := make(chan struct{}), make(chan struct{}), make(chan struct{})
	held := false
	slow.beforeResume = func() { <-resume }
	slow.beforeAccept = func(c sessions.AcceptTurn) {
		if c.Request.ID == "r2" && !held {
			held = true
			close(asked)
			<-release
		}
	}
	h.Restart()
	other := background(func() (*api.PromptResult, error) {
		return h.Client.Prompt(t.Context(), api.PromptArgs{Address: atK, Text: "and I?", RequestID: "r2"}, nil)
	})
	<-asked // as of before the turn was taken up
	close(resume)
	close(gate)
	ended, err := h.Client.Turn(t.Context(), api.TurnArgs{Address: atK, RequestID: "r1", Wait: api.WaitDone})
	require.NoError(t, err)
	require.Equal(t, sessions.TurnIsCompleted, ended.Turn.Status)
	close(release)
	result := <-other
	require.NoError(t, result.err)
	require.Equal(t, "fine", sessions.TextOf(result.value.Message.Content))
	require.Equal(t, []string{"user: work", "assistant: done", "user: and I?", "assistant: fine"}, transcript(t, h.Client))
}
