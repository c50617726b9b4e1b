package actors_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/sessions"
)

// heldCommands is a store whose commands of one kind stop on their way in until
// they are let go.
type heldCommands struct {
	sessions.Store
	answers, commits bool // which kind

	mu      sync.Mutex
	arrived chan struct{} // nil while none is held
	release chan struct{}
}

// hold lets the next command stop; arrived then tells of it.
func (h *heldCommands) hold() (arrived <-chan struct{}, release chan<- struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.arrived, h.release = make(chan struct{}), make(chan struct{})
	return h.arrived, h.release
}

func (h *heldCommands) stop(this bool) {
	h.mu.Lock()
	arrived, release := h.arrived, h.release
	if this {
		h.arrived = nil
	}
	h.mu.Unlock()
	if this && arrived != nil {
		close(arrived)
		<-release
	}
}

func (h *heldCommands) AnswerCalls(ctx context.Context, c sessions.AnswerCalls) (sessions.AnsweredCalls, error) {
	h.stop(h.answers)
	return h.Store.AnswerCalls(ctx, c)
}

func (h *heldCommands) CommitTurn(ctx context.Context, c sessions.CommitTurn) (sessions.CommittedTurn, error) {
	h.stop(h.commits && c.End != nil)
	return h.Store.CommitTurn(ctx, c)
}

// raceCancel starts an answer and a cancel of a turn that waits for the answer, the
// second when the first is on its way into the store.
func raceCancel(t *testing.T, answerFirst bool) (w *actortest.World, at sessions.Address, cancelled bool, answered error) {
	t.Helper()
	store := &heldCommands{answers: answerFirst, commits: !answerFirst}
	w = actortest.New(t, profiles(script(calls("/ui/ask"), text("done")), guarded), actortest.Config{
		Wrap: func(s sessions.Store) sessions.Store { store.Store = s; return store },
	})
	at = actortest.Key("a")
	call, pending := waitingWork(w, at)
	arrived, release := store.hold()
	var both sync.WaitGroup
	give := func() { _, answered = giveAnswer(w, at, pending[0].CallID, gives(`"mine"`)) }
	cancel := func() { cancelled, _ = w.System.Cancel(t.Context(), actors.Cancel{Owner: actortest.Owner, At: at}) }
	first, second := give, cancel
	if !answerFirst {
		first, second = cancel, give
	}
	both.Go(first)
	<-arrived
	both.Go(second)
	close(release)
	both.Wait()
	call.Reply()
	return w, at, cancelled, answered
}

func TestAnAnswerBeforeACancel(t *testing.T) {
	w, at, cancelled, answered := raceCancel(t, true)
	require.NoError(t, answered)
	requireOutputs(t, lastResults(w.History(at)), `"mine"`)
	require.Equal(t, cancelled, w.Turns(at)[0].Status == sessions.TurnIsCancelled, "unless the turn had ended")
	require.Equal(t, "fine", w.Say(at, "go on"))
	requireNoBusy(t, w)
}

func TestAnAnswerBehindACancel(t *testing.T) {
	w, at, cancelled, answered := raceCancel(t, false)
	require.True(t, cancelled)
	require.Equal(t, sessions.CodeNotFound, sessions.CodeOf(answered))
	requireOutputs(t, lastResults(w.History(at)), "")
	require.Equal(t, "fine", w.Say(at, "go on"))
	requireNoBusy(t, w)
}

// Freely: whichever wins, the history has the answer exactly if it was accepted.
func TestAnswersRaceCancels(t *testing.T) {
	w := world(t, script(calls("/ui/ask", "/ui/ask"), text("done")), nil, guarded, shortTTL)
	for i := range 60 {
		at := actortest.Key(string(rune('A' + i%10)))
		call, pending := waitingWork(w, at)
		var all sync.WaitGroup
		got := make([]error, 4) // two clients give the same answer to each call
		for n := range got {
			all.Go(func() { _, got[n] = giveAnswer(w, at, pending[n/2].CallID, gives(`"mine"`)) })
		}
		time.Sleep(time.Duration(i%10) * 100 * time.Microsecond)
		cancelled := w.Cancel(at)
		all.Wait()
		r := call.Reply()
		require.Equal(t, cancelled, r.Turn.Status == sessions.TurnIsCancelled, "%v", r.Turn.Status)
		for n, result := range lastResults(w.History(at)) {
			for _, err := range got[2*n : 2*n+2] {
				require.Equal(t, err == nil, result.Error == nil, "%v, %v", err, result.Error)
				require.Contains(t, []sessions.Code{"", sessions.CodeNotFound}, sessions.CodeOf(err))
			}
		}
	}
	w.AwaitIdle()
}
