package client_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/client"
	"agenthost/host/hosttest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

var atK = api.Address{TargetKey: "k"}

func TestIsSessionBusy(t *testing.T) {
	busy := sessions.Errorf(sessions.CodeAgentBusy, "Busy.")
	for _, err := range []error{busy, &client.StepError{Step: client.StepWait, Err: busy}, sessions.ErrTreeBusy} {
		require.True(t, client.IsSessionBusy(err), "%v", err)
	}
	for _, err := range []error{nil, context.Canceled, sessions.ErrFenced, sessions.ErrNoSession,
		sessions.Errorf(sessions.CodeConflict, "Other.").With("reason", "other")} {
		require.False(t, client.IsSessionBusy(err), "%v", err)
	}
}

// busyHost is a host with a session k whose turn runs until it is cancelled. The
// turn's error is sent.
func busyHost(t *testing.T) (*hosttest.Host, <-chan error) {
	t.Helper()
	o := scripted.Strict(scripted.New(scripted.Step{Text: "Well", Hang: true}))
	h := hosttest.New(t, hosttest.Options{Profiles: map[string]host.Profile{sessions.DefaultProfile: {Oracle: o}}})
	turn := make(chan error, 1)
	go func() {
		_, err := h.Client.Prompt(context.WithoutCancel(t.Context()), api.PromptArgs{Address: atK, Text: "work"}, nil)
		turn <- err
	}()
	require.NoError(t, o.Await(t.Context(), 1))
	return h, turn
}

func TestBusySessionIsKnownByItsRefusals(t *testing.T) {
	h, turn := busyHost(t)
	_, err := h.Client.SessionDelete(t.Context(), api.SessionDeleteArgs{Address: atK, IfBusy: api.IfBusyReject})
	require.Equal(t, sessions.CodeConflict, sessions.CodeOf(err))
	require.True(t, client.IsSessionBusy(err))
	_, err = h.Client.Prompt(t.Context(), api.PromptArgs{Address: atK, Text: "more"}, nil)
	require.True(t, client.IsSessionBusy(err))
	_, err = h.Client.CancelAndDelete(t.Context(), atK, 0)
	require.NoError(t, err)
	require.Equal(t, sessions.CodeCancelled, sessions.CodeOf(<-turn))
}

func TestCancelAndDelete(t *testing.T) {
	t.Run("busy", func(t *testing.T) {
		h, turn := busyHost(t)
		done, err := h.Client.CancelAndDelete(t.Context(), atK, time.Minute)
		require.NoError(t, err)
		require.True(t, done.Deleted)
		require.EqualValues(t, 1, done.Receipt.Sessions)
		require.Equal(t, sessions.CodeCancelled, sessions.CodeOf(<-turn), "not SESSION_DELETED")
		_, err = h.SessionGet(t.Context(), &api.SessionGetArgs{Address: atK})
		require.Equal(t, sessions.CodeSessionNotFound, sessions.CodeOf(err))
	})
	t.Run("idle", func(t *testing.T) {
		h := hosttest.New(t, hosttest.Options{})
		made, err := h.SessionCreate(t.Context(), &api.SessionCreateArgs{Address: atK})
		require.NoError(t, err)
		done, err := h.Client.CancelAndDelete(t.Context(), api.Address{SessionID: made.Session.ID}, time.Minute)
		require.NoError(t, err)
		require.True(t, done.Deleted)
	})
	t.Run("unknown", func(t *testing.T) {
		h := hosttest.New(t, hosttest.Options{})
		done, err := h.Client.CancelAndDelete(t.Context(), atK, time.Minute)
		require.NoError(t, err)
		require.False(t, done.Deleted)
	})
}

// counting is a service that answers by operation and counts what it is asked.
type counting struct {
	cancel, get, turn, remove func(ctx context.Context) (any, error)

	mu  sync.Mutex
	ops []api.Op
}

// asked is what it was asked, in order.
func (s *counting) asked() []api.Op {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ops)
}

func (s *counting) do(ctx context.Context, _ api.Caller, args any, _ emitFunc) (any, error) {
	answer, op := s.remove, api.OpSessionDelete
	switch args.(type) {
	case *api.CancelArgs:
		answer, op = s.cancel, api.OpCancel
	case *api.SessionGetArgs:
		answer, op = s.get, api.OpSessionGet
	case *api.TurnArgs:
		answer, op = s.turn, api.OpTurn
	}
	s.mu.Lock()
	s.ops = append(s.ops, op)
	s.mu.Unlock()
	return answer(ctx)
}

func gives(result any, err error) func(context.Context) (any, error) {
	return func(context.Context) (any, error) { return result, err }
}

// hangs waits for the request's end, after it has told so.
func hangs(began chan<- struct{}) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		began <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

func TestCancelAndDeleteSaysWhichStepItReached(t *testing.T) {
	cancelled := gives(api.CancelResult{Cancelled: true}, nil)
	running := gives(api.SessionGetResult{Session: sessions.Session{ID: "a", ActiveTurn: &sessions.ActiveTurn{TurnID: "t"}}}, nil)
	idle := gives(api.SessionGetResult{Session: sessions.Session{ID: "a"}}, nil)
	deleted := gives(api.SessionDeleteResult{Deleted: true}, nil)
	refused := gives(nil, sessions.Errorf(sessions.CodeForbidden, "No."))
	began := make(chan struct{}, 1)
	for name, c := range map[string]struct {
		service *counting
		ends    bool // the caller's context ends once a request hangs
		step    client.Step
		code    sessions.Code // "" for the end of the context
		asked   []api.Op
	}{
		"cancel refused": {&counting{cancel: refused, get: idle, remove: deleted}, false, client.StepCancel, sessions.CodeForbidden, []api.Op{api.OpCancel}},
		"cancel hangs":   {&counting{cancel: hangs(began), get: idle, remove: deleted}, true, client.StepCancel, "", []api.Op{api.OpCancel}},
		"get refused":    {&counting{cancel: cancelled, get: refused, remove: deleted}, false, client.StepWait, sessions.CodeForbidden, []api.Op{api.OpCancel, api.OpSessionGet}},
		"turn refused":   {&counting{cancel: cancelled, get: running, turn: refused, remove: deleted}, false, client.StepWait, sessions.CodeForbidden, []api.Op{api.OpCancel, api.OpSessionGet, api.OpTurn}},
		"turn hangs":     {&counting{cancel: cancelled, get: running, turn: hangs(began), remove: deleted}, true, client.StepWait, "", []api.Op{api.OpCancel, api.OpSessionGet, api.OpTurn}},
		"delete refused": {&counting{cancel: cancelled, get: idle, remove: refused}, false, client.StepDelete, sessions.CodeForbidden, []api.Op{api.OpCancel, api.OpSessionGet, api.OpSessionDelete}},
		"delete hangs":   {&counting{cancel: cancelled, get: idle, remove: hangs(began)}, true, client.StepDelete, "", []api.Op{api.OpCancel, api.OpSessionGet, api.OpSessionDelete}},
	} {
		t.Run(name, func(t *testing.T) {
			remote := dial(t, &service{do: c.service.do})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.ends {
				go func() { <-began; cancel() }()
			}
			_, err := remote.CancelAndDelete(ctx, atK, time.Hour)
			step, ok := errors.AsType[*client.StepError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, c.step, step.Step)
			if c.ends {
				require.ErrorIs(t, err, context.Canceled)
			} else {
				require.Equal(t, c.code, sessions.CodeOf(err))
			}
			require.Equal(t, c.asked, c.service.asked(), "one cancel, one delete")
		})
	}
}

// What is gone in the middle is what was wanted.
func TestCancelAndDeleteOfWhatSomebodyElseDeletes(t *testing.T) {
	gone := gives(nil, sessions.ErrNoSession)
	for _, s := range []*counting{
		{cancel: gives(nil, sessions.Errorf(sessions.CodeSessionDeleted, "Gone.")), get: gone},
		{cancel: gives(api.CancelResult{}, nil), get: gone},
	} {
		s.remove = gives(api.SessionDeleteResult{}, nil)
		done, err := dial(t, &service{do: s.do}).CancelAndDelete(t.Context(), atK, time.Minute)
		require.NoError(t, err)
		require.False(t, done.Deleted)
	}
}

// A turn that does not end in time leaves the session as it is.
func TestCancelAndDeleteGivesUpWaiting(t *testing.T) {
	running := gives(api.SessionGetResult{Session: sessions.Session{ID: "a", ActiveTurn: &sessions.ActiveTurn{TurnID: "t"}}}, nil)
	began := make(chan struct{}, 2)
	for step, s := range map[client.Step]*counting{
		client.StepCancel: {cancel: hangs(began)},
		client.StepWait:   {cancel: gives(api.CancelResult{}, nil), get: running, turn: hangs(began)},
	} {
		_, err := dial(t, &service{do: s.do}).CancelAndDelete(t.Context(), atK, 500*time.Millisecond)
		at, ok := errors.AsType[*client.StepError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, step, at.Step)
		require.True(t, client.IsSessionBusy(err), "%v", err)
		require.NotContains(t, s.asked(), api.OpSessionDelete)
	}
}
