package actors_test

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/sessions"
	"agenthost/tools"
)

// tally is an Observer that counts turns and prompts.
type tally struct {
	actors.Unobserved

	mu           sync.Mutex
	began, ended int
	ends         map[sessions.TurnStatus]int
	prompts      map[actors.PromptOutcome]int
}

func newTally() *tally {
	return &tally{ends: map[sessions.TurnStatus]int{}, prompts: map[actors.PromptOutcome]int{}}
}

func (c *tally) Prompted(outcome actors.PromptOutcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prompts[outcome]++
}

func (c *tally) TurnBegan(bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.began++
}

func (c *tally) TurnEnded(status sessions.TurnStatus, _ sessions.Code, _ time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended++
	c.ends[status]++
}

// Prompts are counted when they are accepted, turns when they begin: what is
// withdrawn, or read by another turn, has none.
func TestPromptsThatWaitAreCountedOnce(t *testing.T) {
	seen := newTally()
	at := actortest.Key("a")
	reached, release := make(chan struct{}), make(chan struct{})
	w := actortest.New(t, profiles(script(calls("/t/wait"))), actortest.Config{Config: actors.Config{
		Observer: seen, Tools: treeOf(t, mounts{"/t/wait": invoke(func(context.Context, tools.Call) (json.RawMessage, error) {
			reached <- struct{}{}
			<-release
			return json.RawMessage(`1`), nil
		})}),
	}})
	first := w.Send(at, "work")
	<-reached
	var queued []*actortest.Call
	for i := range 3 {
		queued = append(queued, w.Send(at, "next", with(sessions.BusyQueue), actortest.As(sessions.RequestID(strconv.Itoa(i)))))
		queued[i].Accepted()
	}
	read := w.Send(at, "text", steers)
	read.Accepted()
	dropped := w.Send(at, "more", steers, actortest.As("dropped"))
	dropped.Accepted()
	for _, id := range []sessions.RequestID{"1", "dropped"} {
		withdrawn, err := w.System.Cancel(t.Context(), actors.Cancel{Owner: actortest.Owner, At: at, RequestID: id})
		require.NoError(t, err)
		require.True(t, withdrawn)
	}
	w.Send(at, "refused").Failed(sessions.CodeAgentBusy)
	_, busy := w.System.Counts()
	require.EqualValues(t, 3, busy, "the active turn and two that are queued")
	close(release)
	require.Equal(t, "fine", first.Completed())
	require.Equal(t, "fine", read.Completed())
	queued[1].Failed(sessions.CodeCancelled)
	dropped.Failed(sessions.CodeCancelled)
	for _, i := range []int{0, 2} {
		require.Equal(t, "fine", queued[i].Completed())
	}
	requireNoBusy(t, w)
	seen.mu.Lock()
	defer seen.mu.Unlock()
	require.Equal(t, map[actors.PromptOutcome]int{actors.PromptIsAccepted: 6, actors.PromptIsBusy: 1}, seen.prompts)
	require.Equal(t, map[sessions.TurnStatus]int{sessions.TurnIsCompleted: 3}, seen.ends)
	require.Equal(t, seen.began, seen.ended)
	require.EqualValues(t, 3, w.Session(at).TurnCount)
}

// A prompt that interrupts a call takes nothing of the state that steps before it
// have set, steered or not, and leaves nothing of the call's.
func TestStateOverStepsThatAreSteeredAndInterrupted(t *testing.T) {
	reached, release := make(chan int), make(chan struct{})
	at := actortest.Key("a")
	step, runs := calls("/t/n"), 0
	w := world(t, script(step, step, step, text("done")), mounts{
		"/t/n": adder{after: func(ctx context.Context, _ tools.Call) error {
			runs++
			reached <- runs
			select {
			case <-release:
			case <-ctx.Done():
			}
			return ctx.Err()
		}},
	})
	first := w.Send(at, "work")
	require.Equal(t, 1, <-reached)
	read := w.Send(at, "work on", steers)
	read.Accepted()
	release <- struct{}{}
	require.Equal(t, 2, <-reached)
	release <- struct{}{}
	require.Equal(t, 3, <-reached)
	requireState(t, w, at, "2", 2)
	require.Equal(t, "fine", w.Say(at, "urgent", with(sessions.BusyInterrupt)))
	first.Failed(sessions.CodeCancelled)
	read.Failed(sessions.CodeCancelled)
	requireState(t, w, at, "2", 2)
	require.Equal(t, []string{"work", "work on", "urgent"}, users(w.History(at)))
}
