package host_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/oracle/offline"
	"agenthost/oracle/scripted"
	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

var atK = api.Address{TargetKey: "k"}

// workOracle answers "work" with "well" and what follows once gate is open, and
// all else with "fine".
func workOracle(gate <-chan struct{}) *scripted.StrictOracle {
	return scripted.Strict(scripted.Play(scripted.Script{Rules: []scripted.Rule{
		{When: "work", Steps: []scripted.Step{{Gate: gate, Text: "done"}}},
		{Steps: []scripted.Step{{Text: "fine", Repeat: true}}},
	}}))
}

// profiles are those of a host that asks o.
func profiles(o *scripted.StrictOracle) map[string]host.Profile {
	return map[string]host.Profile{sessions.DefaultProfile: {Oracle: o, Tools: hosttest.AllTools()}}
}

// outcome is what a call in the background gave.
type outcome[R any] struct {
	value R
	err   error
}

// background makes a call beside the test. Its outcome must be received.
func background[R any](f func() (R, error)) <-chan outcome[R] {
	done := make(chan outcome[R], 1)
	go func() {
		value, err := f()
		done <- outcome[R]{value, err}
	}()
	return done
}

// atWork returns a host in which the session of atK has a turn, which ends when
// gate is closed.
func atWork(t *testing.T, c host.Config) (h *hosttest.Host, gate chan struct{}, running <-chan outcome[*api.PromptResult]) {
	t.Helper()
	gate = make(chan struct{})
	o := workOracle(gate)
	h = hosttest.New(t, hosttest.Options{Profiles: profiles(o), Config: c})
	running = background(func() (*api.PromptResult, error) {
		return h.Prompt(t.Context(), &api.PromptArgs{Address: atK, Text: "work"}, nil)
	})
	require.NoError(t, o.Await(t.Context(), 1))
	return h, gate, running
}

func openStore(t *testing.T, file string) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), file, sqlite.Config{Durability: sqlite.DurabilityProcess})
	require.NoError(t, err)
	return store
}

func TestNewClosesTheStoreWhenItFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	_, err := host.New(openStore(t, file), map[string]host.Profile{"p": {}}, host.Config{})
	require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
	require.Equal(t, "/profiles/p/oracle", sessions.AsError(err).Details["field"])
	require.NoError(t, openStore(t, file).Close(), "a store in use would not open twice")
}

func TestNewRefusesNegativeLimits(t *testing.T) {
	_, err := host.New(openStore(t, filepath.Join(t.TempDir(), "a.db")), map[string]host.Profile{"default": {Oracle: offline.New()}},
		host.Config{Limits: sessions.Limits{BusyTurns: -1}})
	require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
	require.Equal(t, "busyTurns", sessions.AsError(err).Details["limit"])
}

func TestStartAndStopMayBeCalledAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	h, err := host.New(openStore(t, file), map[string]host.Profile{"default": {Oracle: offline.New()}}, host.Config{})
	require.NoError(t, err)
	require.NoError(t, h.Start(t.Context()))
	require.NoError(t, h.Start(t.Context()))
	require.NoError(t, h.Ready(t.Context()))
	var stops sync.WaitGroup
	for range 3 {
		stops.Go(h.Stop)
	}
	stops.Wait()
	require.Error(t, h.Ready(t.Context()))
	require.NoError(t, openStore(t, file).Close())
}

func TestStopWithoutStart(t *testing.T) {
	h, err := host.New(openStore(t, filepath.Join(t.TempDir(), "a.db")), nil, host.Config{})
	require.NoError(t, err)
	h.Stop()
}

// A program that gets its signal to end while it starts.
func TestStopDuringStart(t *testing.T) {
	for range 20 {
		h, err := host.New(openStore(t, filepath.Join(t.TempDir(), "a.db")), nil, host.Config{})
		require.NoError(t, err)
		var calls sync.WaitGroup
		calls.Go(func() { _ = h.Start(context.WithoutCancel(t.Context())) }) // either may come first
		calls.Go(h.Stop)
		calls.Wait()
	}
}

func TestEverythingIsRefusedAfterStop(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	h.Stop()
	ctx := t.Context()
	_, err := h.Prompt(ctx, &api.PromptArgs{Address: atK, Text: "hi"}, nil)
	require.Equal(t, sessions.CodeHostStopping, sessions.CodeOf(err))
	_, err = h.Prompt(ctx, &api.PromptArgs{Address: atK, Text: "hi", Wait: api.WaitAccepted}, nil)
	require.Equal(t, sessions.CodeHostStopping, sessions.CodeOf(err))
	_, err = h.Cancel(ctx, &api.CancelArgs{Address: atK})
	require.Equal(t, sessions.CodeHostStopping, sessions.CodeOf(err))
	_, err = h.SessionDelete(ctx, &api.SessionDeleteArgs{Address: atK})
	require.Equal(t, sessions.CodeHostStopping, sessions.CodeOf(err))
	_, err = h.SessionGet(ctx, &api.SessionGetArgs{Address: atK})
	require.Error(t, err)
}

// A turn that the grace period does not see end goes on at the next start, and
// its request id joins it.
func TestTurnCutByAStopGoesOnAfterIt(t *testing.T) {
	gate := make(chan struct{})
	o := workOracle(gate)
	h := hosttest.New(t, hosttest.Options{Profiles: profiles(o), Config: host.Config{StopGrace: time.Millisecond}})
	args := &api.PromptArgs{Address: atK, Text: "work", RequestID: "r1"}
	running := background(func() (*api.PromptResult, error) { return h.Prompt(t.Context(), args, nil) })
	require.NoError(t, o.Await(t.Context(), 1))
	h.Stop()
	cut := (<-running).err
	require.Equal(t, sessions.CodeHostStopping, sessions.CodeOf(cut))
	require.NotEmpty(t, sessions.AsError(cut).Details["turnId"])

	h.Restart()
	close(gate)
	result, err := h.Prompt(t.Context(), args, nil)
	require.NoError(t, err)
	require.True(t, result.Duplicate)
	require.EqualValues(t, sessions.AsError(cut).Details["turnId"], result.TurnID)
	require.Equal(t, "done", sessions.TextOf(result.Message.Content))
	turns, err := h.Turns(t.Context(), &api.TurnsArgs{Address: atK})
	require.NoError(t, err)
	require.Len(t, turns.Turns, 1)
	require.Zero(t, turns.Turns[0].Attempts, "a stop in order is no attempt")
}

func TestTurnThatEndsWithinTheGraceIsAnswered(t *testing.T) {
	h, gate, running := atWork(t, host.Config{StopGrace: time.Minute})
	stopped := background(func() (struct{}, error) { h.Host.Stop(); return struct{}{}, nil })
	require.Eventually(t, func() bool { // the stop has begun
		_, err := h.Prompt(context.WithoutCancel(t.Context()), &api.PromptArgs{Address: api.Address{TargetKey: "other"}, Text: "hi"}, nil)
		return sessions.CodeOf(err) == sessions.CodeHostStopping
	}, hosttest.Patience, time.Millisecond)
	close(gate)
	result := <-running
	require.NoError(t, result.err)
	require.Equal(t, "done", sessions.TextOf(result.value.Message.Content))
	<-stopped
}

func TestHostInfoCountsWhatIsThere(t *testing.T) {
	h, gate, running := atWork(t, host.Config{Version: "1.2.3"})
	info, err := h.HostInfo(t.Context(), &api.HostInfoArgs{})
	require.NoError(t, err)
	require.Equal(t, "1.2.3", info.Version)
	require.Equal(t, "scripted", info.Oracle)
	require.EqualValues(t, 1, info.ActiveTurns)
	close(gate)
	require.NoError(t, (<-running).err)
}
