package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// heldReads is a store that reads a turn once it is released.
type heldReads struct {
	sessions.Store
	released <-chan struct{}
}

func (h heldReads) Turn(ctx context.Context, life sessions.Incarnation, id sessions.TurnID) (sessions.Turn, error) {
	<-h.released
	return h.Store.Turn(ctx, life, id)
}

// A cancel that comes for a companion when its actor is gone holds up no stop.
func TestAStopDoesNotWaitForTheCancelOfACompanion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := family(bid("begin", helper("spawn", "long work")), acts("hang on", scripted.Step{Hang: true}),
			acts("long work", scripted.Step{Hang: true}))
		released := make(chan struct{})
		w := actortest.Open(t, profiles(o, delegating), actortest.Config{
			Wrap: func(s sessions.Store) sessions.Store { return heldReads{s, released} },
		})
		at := actortest.Key("a")
		w.Say(at, "begin")
		w.Send(at, "hang on").Accepted()
		require.True(t, w.Cancel(at))
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			w.System.Stop(0)
		}()
		synctest.Wait() // the actors are gone, and what the companion was looked after by is at the store
		began := time.Now()
		close(released)
		<-stopped
		require.Less(t, time.Since(began), time.Second)
		w.Close()
		<-time.After(time.Minute)
	})
}
