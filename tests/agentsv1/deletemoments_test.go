package agentsv1

import (
	"context"
	"io"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/oracle"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
)

// gate holds up whoever comes, once it is shut, until it is opened.
type gate struct {
	mu      sync.Mutex
	shut    chan struct{} // nil while open
	arrived chan struct{} // gets a value for each who comes to the shut gate
}

func newGate() *gate { return &gate{arrived: make(chan struct{}, 16)} }

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = make(chan struct{})
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.shut)
	g.shut = nil
}

func (g *gate) pass() {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut != nil {
		g.arrived <- struct{}{}
		<-shut
	}
}

// gatedStore is a store with gates before the start of a queued turn and before the
// end of a cancelled one.
type gatedStore struct {
	sessions.Store
	starts, cancels *gate
}

func (s gatedStore) StartTurn(ctx context.Context, c sessions.StartTurn) (sessions.AcceptedTurn, bool, error) {
	s.starts.pass()
	return s.Store.StartTurn(ctx, c)
}

func (s gatedStore) CommitTurn(ctx context.Context, c sessions.CommitTurn) (sessions.CommittedTurn, error) {
	if c.End != nil && c.End.Status == sessions.TurnIsCancelled {
		s.cancels.pass()
	}
	return s.Store.CommitTurn(ctx, c)
}

func gatedWorld(t *testing.T, by oracle.Oracle) (w *world, starts, cancels *gate) {
	t.Helper()
	starts, cancels = newGate(), newGate()
	return newFitted(t, by, fitting{wrap: func(s sessions.Store) sessions.Store { return gatedStore{s, starts, cancels} }}), starts, cancels
}

// stored is a session as the host has it.
func (w *world) stored(id string) sessions.Session {
	w.t.Helper()
	got, err := w.host.SessionGet(w.ctx(), &api.SessionGetArgs{Address: api.Address{SessionID: sessions.SessionID(id)}})
	require.NoError(w.t, err)
	return got.Session
}

func TestDeleteWhileATurnIsQueuedOnly(t *testing.T) {
	w, starts, _ := gatedWorld(t, everyState())
	id := w.made("hang", "in_progress")
	_, err := w.host.Prompt(w.ctx(), &api.PromptArgs{Address: api.Address{SessionID: sessions.SessionID(id)}, Text: "hello",
		Busy: sessions.BusyQueue, Wait: api.WaitAccepted}, nil)
	require.NoError(t, err)
	starts.close()
	w.cancel(id)
	<-starts.arrived
	s := w.stored(id)
	require.Nil(t, s.ActiveTurn)
	require.EqualValues(t, 1, s.Queued)
	w.until(id, "in_progress")
	w.requireUnsettled(id)
	starts.open()
	w.until(id, "idle")
	w.requireTurns(id, 2)
	w.requireDeletable(id)
	require.Empty(t, w.digest()["sessions"])
}

func TestDeleteWhileATurnIsBeingCancelled(t *testing.T) {
	w, _, cancels := gatedWorld(t, everyState())
	for _, input := range []string{"hang", "ask"} {
		status := map[string]sessions.TurnStatus{"hang": sessions.TurnIsRunning, "ask": sessions.TurnIsWaiting}[input]
		s, err := w.sessions().New(w.ctx(), asking(input))
		require.NoError(t, err)
		require.Eventually(t, func() bool { a := w.stored(s.ID).ActiveTurn; return a != nil && a.Status == status }, patience, 5*time.Millisecond)
		cancels.close()
		cancelled := make(chan error, 1)
		go func() { cancelled <- w.sessions().Events.New(w.ctx(), s.ID, cancelling()) }()
		<-cancels.arrived
		w.requireUnsettled(s.ID)
		cancels.open()
		require.NoError(t, <-cancelled)
		w.until(s.ID, "idle")
		w.requireDeletable(s.ID)
	}
	require.Empty(t, w.digest()["sessions"])
}

// deaf is an oracle that goes on with its answer whatever becomes of its context.
type deaf struct {
	asked chan struct{} // gets a value for each call
	goOn  chan struct{} // closed when it may go on
	ended chan struct{} // gets a value when a call is over
}

func (deaf) Name() string { return "deaf" }

func (d deaf) Infer(context.Context, oracle.Request) iter.Seq2[oracle.Part, error] {
	return func(yield func(oracle.Part, error) bool) {
		defer func() { d.ended <- struct{}{} }()
		d.asked <- struct{}{}
		<-d.goOn
		_ = yield(oracle.TextDelta{Text: "too late"}, nil) && yield(oracle.Stop{Reason: oracle.StopDone}, nil)
	}
}

// A turn whose model does not hear of the cancel has ended all the same. What the
// model says afterwards brings nothing back.
func TestDeleteWhileACancelledModelGoesOn(t *testing.T) {
	d := deaf{make(chan struct{}, 1), make(chan struct{}), make(chan struct{}, 1)}
	w := newWorld(t, d)
	s, err := w.sessions().New(w.ctx(), body("hi"))
	require.NoError(t, err)
	<-d.asked
	w.requireUnsettled(s.ID)
	w.cancel(s.ID)
	w.until(s.ID, "idle")
	deleted := make(chan error, 1)
	go func() {
		_, err := w.sessions().Delete(w.ctx(), s.ID)
		deleted <- err
	}()
	require.Eventually(t, func() bool { return len(w.digest()["sessions"]) == 0 }, patience, 5*time.Millisecond)
	close(d.goOn)
	<-d.ended
	require.NoError(t, <-deleted)
	after := w.digest()
	require.Empty(t, after["sessions"])
	require.Empty(t, after["messages"])
	_, err = w.sessions().Delete(w.ctx(), s.ID)
	require.NoError(t, err)
	require.Equal(t, after, w.digest())
}

// afterAKill opens what a host that was killed now would have left.
func (w *world) afterAKill(by oracle.Oracle, fit fitting) *world {
	w.t.Helper()
	left := &world{t: w.t, file: filepath.Join(w.t.TempDir(), "agenthost.db"), fit: fit}
	for _, part := range []string{"", "-wal"} { // the rest is made anew from these
		from, err := os.Open(w.file + part)
		require.NoError(w.t, err)
		to, err := os.Create(left.file + part)
		require.NoError(w.t, err)
		_, err = io.Copy(to, from)
		require.NoError(w.t, err)
		require.NoError(w.t, to.Close())
		require.NoError(w.t, from.Close())
	}
	left.open(by)
	w.t.Cleanup(func() { left.stop() })
	return left
}

// untilTakenUp waits until a host has gone on with the turn of the host before it.
func (w *world) untilTakenUp(id string) {
	w.t.Helper()
	at := api.Address{SessionID: sessions.SessionID(id)}
	require.Eventually(w.t, func() bool {
		active := w.stored(id).ActiveTurn
		if active == nil {
			return false
		}
		got, err := w.host.Turn(w.ctx(), &api.TurnArgs{Address: at, TurnID: active.TurnID})
		return err == nil && got.Turn.Attempts == 1
	}, patience, 5*time.Millisecond)
	w.until(id, "in_progress")
}

func TestDeleteAfterACrash(t *testing.T) {
	began := make(chan struct{}, 1)
	fit := func() fitting {
		tree := &tools.Tree{}
		require.NoError(t, tree.Mount("/test/once", tools.MustFunc("Acts, and must not act twice.",
			func(ctx context.Context, _ tools.Call, _ struct{}) (string, error) {
				began <- struct{}{}
				<-ctx.Done()
				return "", ctx.Err()
			})))
		return fitting{tools: tree, fit: func(profiles map[string]host.Profile) {
			profile := profiles[sessions.DefaultProfile]
			profile.Tools = []string{"/test"}
			profiles[sessions.DefaultProfile] = profile
		}}
	}
	script := scripted.Play(scripted.Script{Rules: []scripted.Rule{
		{When: "act", Steps: []scripted.Step{{Calls: []scripted.Call{{Path: "/test/once"}}}, {Text: "done"}}},
		{When: "hang", Steps: []scripted.Step{{Hang: true}}},
		{When: "ask", Steps: []scripted.Step{{Calls: []scripted.Call{{Path: "/functions/look", Args: `{}`}}}, {Text: "done"}}},
		{Steps: []scripted.Step{{Text: "ok"}}},
	}})
	t.Run("interrupted", func(t *testing.T) {
		w := newFitted(t, script, fit())
		s, err := w.sessions().New(w.ctx(), body("act"))
		require.NoError(t, err)
		<-began
		left := w.afterAKill(script, fit())
		got := left.until(s.ID, "failed")
		require.NotEmpty(t, got.Error)
		require.Empty(t, got.RequiredActions)
		left.requireTurns(s.ID, 1)
		left.requireDeletable(s.ID)
		require.Empty(t, left.digest()["sessions"])
	})
	t.Run("interrupted and spoken to", func(t *testing.T) {
		w := newFitted(t, script, fit())
		s, err := w.sessions().New(w.ctx(), body("act"))
		require.NoError(t, err)
		<-began
		left := w.afterAKill(script, fit())
		left.until(s.ID, "failed")
		require.NoError(t, left.sessions().Events.New(left.ctx(), s.ID, saying("k", "hang")))
		left.requireUnsettled(s.ID)
		left.cancel(s.ID)
		left.until(s.ID, "idle")
		left.requireDeletable(s.ID)
	})
	t.Run("taken up", func(t *testing.T) {
		w := newFitted(t, script, fit())
		id := w.made("hang", "in_progress")
		left := w.afterAKill(script, fit())
		left.untilTakenUp(id)
		left.requireUnsettled(id)
		left.cancel(id)
		left.until(id, "idle")
		left.requireDeletable(id)
	})
	t.Run("waiting still", func(t *testing.T) {
		w := newFitted(t, script, fit())
		id := w.made("ask", "requires_action")
		left := w.afterAKill(script, fit())
		require.Len(t, left.until(id, "requires_action").RequiredActions, 1)
		left.requireUnsettled(id)
		left.cancel(id)
		left.until(id, "idle")
		left.requireDeletable(id)
	})
	t.Run("queued still", func(t *testing.T) {
		w := newFitted(t, script, fit())
		id := w.made("hang", "in_progress")
		_, err := w.host.Prompt(w.ctx(), &api.PromptArgs{Address: api.Address{SessionID: sessions.SessionID(id)}, Text: "later",
			Busy: sessions.BusyQueue, Wait: api.WaitAccepted}, nil)
		require.NoError(t, err)
		left := w.afterAKill(script, fit())
		left.untilTakenUp(id)
		left.requireUnsettled(id)
		left.cancel(id)
		left.until(id, "idle")
		left.requireTurns(id, 2)
		left.requireDeletable(id)
	})
	t.Run("settled", func(t *testing.T) {
		w := newFitted(t, script, fit())
		id := w.made("hello", "idle")
		left := w.afterAKill(script, fit())
		left.until(id, "idle")
		left.requireDeletable(id)
		require.Empty(t, left.digest()["sessions"])
	})
}
