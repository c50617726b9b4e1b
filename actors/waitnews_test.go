package actors_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/sessions"
)

// heldNews is a store that holds back, until the test lets it go, the news of the
// first command of one kind that it has carried out: a step that lets a turn go on,
// or answers.
type heldNews struct {
	sessions.Store
	answers         bool // which kind
	once            sync.Once
	stored, release chan struct{}
}

func (h *heldNews) CommitTurn(ctx context.Context, c sessions.CommitTurn) (sessions.CommittedTurn, error) {
	done, err := h.Store.CommitTurn(ctx, c)
	h.hold(c.GoOn && !h.answers)
	return done, err
}

func (h *heldNews) AnswerCalls(ctx context.Context, c sessions.AnswerCalls) (sessions.AnsweredCalls, error) {
	done, err := h.Store.AnswerCalls(ctx, c)
	h.hold(h.answers)
	return done, err
}

func (h *heldNews) hold(this bool) {
	if !this {
		return
	}
	h.once.Do(func() {
		close(h.stored)
		<-h.release
	})
}

// A delete comes between the step that lets the turn go on and the news of it.
func TestADeleteBeforeTheNewsThatATurnGoesOnLeavesItsPlaceFree(t *testing.T) {
	store := &heldNews{stored: make(chan struct{}), release: make(chan struct{})}
	w := actortest.New(t, profiles(script(calls("/ui/ask"), text("done")), guarded), actortest.Config{
		Wrap: func(s sessions.Store) sessions.Store { store.Store = s; return store },
	})
	at := actortest.Key("a")
	call, pending := waitingWork(w, at)
	mustAnswer(w, at, pending[0].CallID, gives(`1`))
	<-store.stored
	ended := w.Deleting(at)
	call.Failed(sessions.CodeSessionDeleted)
	close(store.release)
	<-ended // the agent is gone, and so is all that its run did
	_, busy := w.System.Counts()
	require.Zero(t, busy)
	require.Equal(t, "fine", w.Say(at, "hello"))
}

// The last answer is stored within the wait's limit, and the news of it comes when
// the limit is reached.
func TestAnAnswerThatIsHeardOfAtTheLimitOfItsWait(t *testing.T) {
	for range 20 { // either may be first
		synctest.Test(t, func(t *testing.T) {
			store := &heldNews{answers: true, stored: make(chan struct{}), release: make(chan struct{})}
			limited := func(p *actors.Profile) { p.WaitTimeout = time.Minute }
			w := actortest.NewInBubble(t, profiles(script(calls("/ui/ask"), text("done")), guarded, limited), actortest.Config{
				Wrap: func(s sessions.Store) sessions.Store { store.Store = s; return store },
			})
			at := actortest.Key("a")
			call, pending := waitingWork(w, at)
			limit := time.Until(time.UnixMilli(int64(w.Turns(at)[0].WaitingSince)).Add(time.Minute))
			go func() {
				<-store.stored
				time.Sleep(limit)
				close(store.release)
			}()
			mustAnswer(w, at, pending[0].CallID, gives(`1`))
			require.Equal(t, "done", call.Completed())
		})
	}
}
