package actors_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// trippedStore is tripped with a store that the test may hold up.
func trippedStore(t *testing.T, steps ...scripted.Step) (*actortest.World, *tripwire, *gatedStore) {
	t.Helper()
	c, g := &tripwire{}, &gatedStore{}
	w := actortest.New(t, profiles(script(steps...)), actortest.Config{Config: actors.Config{Now: c.now}, Wrap: g.wrap})
	return w, c, g
}

// requireGoesOn requires that a prompt whose caller was told of a fault runs
// nevertheless, and that its session takes more.
func requireGoesOn(t *testing.T, w *actortest.World, at sessions.Address, text string, id sessions.RequestID) {
	t.Helper()
	require.Equal(t, "fine", w.Say(at, text, actortest.As(id)))
	require.Equal(t, "fine", w.Say(at, "go on"))
	requireNoBusy(t, w)
}

// A prompt that has waited for another's accept, and meets the fault when its
// turn to be handled comes, is answered like everyone else.
func TestPanicAtAPromptThatWasHeldUp(t *testing.T) {
	w, c, g := trippedStore(t, scripted.Step{Hang: true})
	at := actortest.Key("a")
	first := w.Send(at, "work")
	first.Accepted()
	stored, release := make(chan struct{}), make(chan struct{})
	g.set(func(g *gatedStore) {
		g.onAccepted = func() {
			stored <- struct{}{}
			<-release
		}
	})
	queued := w.Send(at, "queued", with(sessions.BusyQueue), actortest.As("q"))
	<-stored
	g.set(func(g *gatedStore) { g.onAccepted = nil })
	held := w.Send(at, "held up", with(sessions.BusyQueue))
	require.NoError(t, w.System.Alive(t.Context())) // the root has passed it on
	c.armed.Store(true)
	close(release)
	for _, call := range []*actortest.Call{first, queued, held} {
		call.Failed(sessions.CodeInternal)
	}
	requireGoesOn(t, w, at, "queued", "q")
	require.Equal(t, []string{"work", "queued", "go on"}, users(w.History(at)))
}

// The fault meets the agent when it asks for the start of the next turn.
func TestPanicAtTheStartOfAQueuedTurn(t *testing.T) {
	gate := make(chan struct{})
	w, c, g := trippedStore(t, scripted.Step{Gate: gate, Text: "done"})
	at := actortest.Key("a")
	first := w.Send(at, "work", actortest.As("r"))
	first.Accepted()
	queued := w.Send(at, "queued", with(sessions.BusyQueue), actortest.As("q"))
	queued.Accepted()
	g.set(func(g *gatedStore) {
		g.onCommit = func(step sessions.CommitTurn) error {
			if step.RequestID == "r" && step.End != nil {
				c.armed.Store(true)
			}
			return nil
		}
	})
	close(gate)
	require.Nil(t, first.Reply().Err)
	queued.Failed(sessions.CodeInternal)
	requireGoesOn(t, w, at, "queued", "q")
}

// The fault meets the agent when it withdraws a prompt.
func TestPanicAtAWithdrawal(t *testing.T) {
	w, c := tripped(t, scripted.Step{Hang: true})
	at := actortest.Key("a")
	w.Send(at, "work").Accepted()
	queued := w.Send(at, "queued", with(sessions.BusyQueue), actortest.As("q"))
	queued.Accepted()
	c.armed.Store(true)
	_, err := w.System.Cancel(t.Context(), actors.Cancel{Owner: actortest.Owner, At: at, RequestID: "q"})
	require.Equal(t, sessions.CodeInternal, sessions.CodeOf(err))
	queued.Failed(sessions.CodeInternal)
	requireGoesOn(t, w, at, "queued", "q")
}
