package actors_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/actors/feed"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

func TestStopLetsTurnsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := actortest.NewInBubble(t, profiles(script(scripted.Step{Delay: 5 * time.Second, Text: "done"})), actortest.Config{})
		call := w.Send(actortest.Key("a"), "work")
		call.Accepted()
		w.Say(actortest.Key("idle"), "hello")
		stopped := make(chan struct{})
		go func() {
			w.System.Stop(10 * time.Second)
			close(stopped)
		}()
		time.Sleep(time.Second)
		w.Send(actortest.Key("b"), "hello").Failed(sessions.CodeHostStopping)
		w.Send(actortest.Key("a"), "hello").Failed(sessions.CodeHostStopping)
		_, err := w.System.Delete(t.Context(), actors.Delete{Owner: actortest.Owner, At: actortest.Key("idle")})
		require.Equal(t, sessions.CodeHostStopping, sessions.CodeOf(err))
		_, err = w.System.ClearAll(t.Context(), actors.ClearAll{Owner: actortest.Owner})
		require.Equal(t, sessions.CodeHostStopping, sessions.CodeOf(err))
		require.Equal(t, "done", call.Completed())
		<-stopped
		require.Equal(t, sessions.TurnIsCompleted, w.Turns(actortest.Key("a"))[0].Status)
		resident, busy := w.System.Counts()
		require.Zero(t, resident)
		require.Zero(t, busy)
	})
}

func TestStopCutsWhatIsLeftAfterTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := actortest.NewInBubble(t, profiles(script(scripted.Step{Text: "half", Hang: true})), actortest.Config{})
		at := actortest.Key("a")
		call := w.Send(at, "work")
		turn := call.Accepted().Turn
		sub := w.System.Feed().Subscribe(actortest.Owner, w.Session(at).Fence.Incarnation, 0)
		defer sub.Close()
		began := time.Now()
		w.System.Stop(3 * time.Second)
		require.Equal(t, 3*time.Second, time.Since(began))
		r := call.Failed(sessions.CodeHostStopping)
		require.EqualValues(t, turn.TurnID, r.Err.Details["turnId"])
		require.Equal(t, feed.Stopping, nextEnd(t, sub))
		require.Equal(t, sessions.TurnIsRunning, w.Turns(at)[0].Status, "the next start takes it up")

		<-w.System.Stopped()
		w.System.Stop(time.Hour) // a second one returns at once
		require.Equal(t, 3*time.Second, time.Since(began))
		w.Send(at, "hello").Failed(sessions.CodeHostStopping)
		_, err := w.System.Cancel(t.Context(), actors.Cancel{Owner: actortest.Owner, At: at})
		require.Equal(t, sessions.CodeHostStopping, sessions.CodeOf(err))
		require.Equal(t, sessions.CodeHostStopping, sessions.CodeOf(w.System.Alive(t.Context())))
	})
}

func TestStopUnderLoad(t *testing.T) {
	w := world(t, oracleFunc(repeatUser), nil, shortTTL)
	var all sync.WaitGroup
	faults := make(chan error, 1000)
	begun := make(chan struct{}, 1000)
	for c := range 8 {
		all.Go(func() {
			for i := 0; ; i++ {
				r := w.Send(actortest.Key(strconv.Itoa(c)), strconv.Itoa(i)).Reply()
				begun <- struct{}{}
				if r.Err == nil {
					continue
				}
				if r.Err.Code != sessions.CodeHostStopping {
					faults <- r.Err
				}
				return
			}
		})
	}
	for range 40 {
		<-begun
	}
	go func() {
		for range begun {
		}
	}()
	w.System.Stop(10 * time.Second)
	all.Wait()
	close(begun)
	close(faults)
	for err := range faults {
		require.NoError(t, err)
	}
	unfinished, err := w.Store.BusyTurns(t.Context())
	require.NoError(t, err)
	require.Empty(t, unfinished)
}

// A caller may turn away; the turn goes on.
func TestWaitersMayLeave(t *testing.T) {
	gate := make(chan struct{})
	w := world(t, script(scripted.Step{Gate: gate, Text: "done"}), nil)
	at := actortest.Key("a")
	call := w.Send(at, "work")
	call.Accepted()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.System.Wait(ctx, make(chan actors.PromptReply))
	require.ErrorIs(t, err, context.Canceled)
	_, err = w.System.Cancel(ctx, actors.Cancel{Owner: actortest.Owner, At: actortest.Key("b")})
	if err != nil { // the answer may have come all the same
		require.ErrorIs(t, err, context.Canceled)
	}
	close(gate)
	require.Equal(t, "done", call.Completed())
}

// A stop that overtakes the start leaves the unfinished turns to the next one.
func TestStopBeforeTurnsAreTakenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hanging := profiles(script(scripted.Step{Hang: true}))
		w := actortest.Open(t, hanging, actortest.Config{})
		left, running := actortest.Key("left"), actortest.Key("running")
		w.Send(left, "work").Accepted()
		w.Close()
		w = actortest.NewInBubble(t, hanging, actortest.Config{Path: w.Path})
		w.Send(running, "work").Accepted()
		began := time.Now()
		go w.System.Stop(3 * time.Second)
		time.Sleep(time.Second)
		require.NoError(t, w.System.Recover(t.Context()))
		<-w.System.Stopped()
		require.Equal(t, 3*time.Second, time.Since(began))
		require.Equal(t, sessions.TurnIsRunning, w.Turns(left)[0].Status)
	})
}
