package actors_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors/actortest"
	"agenthost/sessions"
)

// heldNews is a store whose first answer to a step that lets a turn go on is held
// back, until the test lets it go.
type heldNews struct {
	sessions.Store
	once            sync.Once
	stored, release chan struct{}
}

func (h *heldNews) CommitTurn(ctx context.Context, c sessions.CommitTurn) (sessions.CommittedTurn, error) {
	done, err := h.Store.CommitTurn(ctx, c)
	if c.GoOn {
		h.once.Do(func() {
			close(h.stored)
			<-h.release
		})
	}
	return done, err
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
