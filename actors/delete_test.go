package actors_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/actors/feed"
	"agenthost/oracle"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// nextEnd reads a subscription to its end.
func nextEnd(t *testing.T, s *feed.Subscription) feed.Reason {
	t.Helper()
	for {
		_, err := s.Next(t.Context())
		if err != nil {
			end := &feed.EndError{}
			require.ErrorAs(t, err, &end)
			return end.Reason
		}
	}
}

func TestDeleteAnIdleSession(t *testing.T) {
	w := world(t, script(), nil)
	for _, evicted := range []bool{false, true} {
		at := actortest.Key(strconv.FormatBool(evicted))
		w.Say(at, "hello", actortest.As(sessions.RequestID(at.Key.Target)))
		s := w.Session(at)
		sub := w.System.Feed().Subscribe(actortest.Owner, s.Fence.Incarnation, 0)
		defer sub.Close()
		r := w.Delete(at)
		require.EqualValues(t, 1, r.Receipt.Sessions)
		require.True(t, r.Receipt.Complete)
		require.False(t, r.Pending)
		require.Equal(t, feed.Deleted, nextEnd(t, sub))
		require.Nil(t, w.Delete(at).Receipt)
		w.Send(actortest.ID(s.ID), "hello").Failed(sessions.CodeSessionNotFound)
		w.Send(at, "hello", actortest.As(sessions.RequestID(at.Key.Target))).Failed(sessions.CodeSessionDeleted)
		require.Equal(t, "fine", w.Say(at, "anew"))
		require.NotEqual(t, s.ID, w.Session(at).ID)
		require.Len(t, w.History(at), 2)
	}
}

// case 26: the caller is told, and the late answer of the model changes nothing.
func TestCase26DeleteInMidTurn(t *testing.T) {
	gate, asked := make(chan struct{}), make(chan struct{})
	w := world(t, oracleFunc(func(_ context.Context, r oracle.Request, yield func(oracle.Part, error) bool) {
		if isWork(r) {
			close(asked)
			<-gate // whatever its context says
		}
		yield(oracle.TextDelta{Text: "done"}, nil)
	}), nil)
	at := actortest.Key("a")
	call := w.Send(at, "work")
	id := call.Accepted().SessionID
	<-asked
	reply := w.Deleting(at)
	r := call.Failed(sessions.CodeSessionDeleted)
	require.NotEmpty(t, r.Err.Details["turnId"])
	require.Equal(t, "done", w.Say(at, "anew"), "does not wait for the old agent")
	close(gate)
	require.EqualValues(t, 1, (<-reply).Receipt.Sessions)
	require.Len(t, w.History(at), 2)
	_, err := w.Store.Session(t.Context(), actortest.Owner, actortest.ID(id))
	require.Equal(t, sessions.CodeSessionNotFound, sessions.CodeOf(err))
	_, busy := w.System.Counts()
	require.Zero(t, busy)
}

func TestDeleteAnswersAfterItsGraceAlthoughAnAgentStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := actortest.NewInBubble(t, profiles(oracleFunc(func(_ context.Context, _ oracle.Request, _ func(oracle.Part, error) bool) {
			time.Sleep(time.Minute) // whatever its context says
		})), actortest.Config{})
		at := actortest.Key("a")
		call := w.Send(at, "work")
		call.Accepted()
		synctest.Wait() // the model call is under way
		began := time.Now()
		r, err := w.System.Delete(t.Context(), actors.Delete{Owner: actortest.Owner, At: at, Grace: 3 * time.Second})
		require.NoError(t, err)
		require.True(t, r.Pending)
		require.False(t, r.Receipt.Complete)
		require.EqualValues(t, 1, r.Receipt.Sessions)
		require.Equal(t, 3*time.Second, time.Since(began))
		call.Failed(sessions.CodeSessionDeleted)
		time.Sleep(time.Minute)
	})
}

func TestDeleteThatRefusesABusySession(t *testing.T) {
	gate := make(chan struct{})
	g := &gatedStore{}
	w := actortest.New(t, profiles(script(scripted.Step{Gate: gate, Text: "done"})), actortest.Config{Wrap: g.wrap})
	at := actortest.Key("a")
	call := w.Send(at, "work")
	call.Accepted()
	deciding, asked := make(chan struct{}), make(chan struct{})
	g.set(func(g *gatedStore) {
		g.onDelete = func(*sessions.DeleteSession) error { close(asked); <-deciding; return nil }
	})
	refusal := make(chan error)
	go func() {
		_, err := w.System.Delete(t.Context(), actors.Delete{Owner: actortest.Owner, At: at, RejectIfBusy: true})
		refusal <- err
	}()
	<-asked
	held := w.Send(at, "meanwhile") // is kept until the store has decided
	close(deciding)
	require.Equal(t, sessions.CodeConflict, sessions.CodeOf(<-refusal))
	g.set(func(g *gatedStore) { g.onDelete = nil })
	held.Failed(sessions.CodeAgentBusy)
	close(gate)
	require.Equal(t, "done", call.Completed())
	require.Equal(t, "fine", w.Say(at, "go on"))
	r, err := w.System.Delete(t.Context(), actors.Delete{Owner: actortest.Owner, At: at, RejectIfBusy: true})
	require.NoError(t, err)
	require.EqualValues(t, 1, r.Receipt.Sessions)
}

func TestDeleteThatTheStoreCannotDo(t *testing.T) {
	gate := make(chan struct{})
	g := &gatedStore{}
	w := actortest.New(t, profiles(script(scripted.Step{Gate: gate, Text: "done"})), actortest.Config{Wrap: g.wrap})
	at := actortest.Key("a")
	call := w.Send(at, "work")
	call.Accepted()
	g.set(func(g *gatedStore) { g.onDelete = func(*sessions.DeleteSession) error { return away } })
	_, err := w.System.Delete(t.Context(), actors.Delete{Owner: actortest.Owner, At: at})
	require.Equal(t, sessions.CodeStoreUnavailable, sessions.CodeOf(err))
	close(gate)
	require.Equal(t, "done", call.Completed(), "nothing is torn down")
}

// What is sent while the store decides goes to a fresh session.
func TestHeldPromptsGoToAFreshSession(t *testing.T) {
	g := &gatedStore{}
	w := actortest.New(t, profiles(oracleFunc(repeatUser)), actortest.Config{Wrap: g.wrap})
	at := actortest.Key("a")
	w.Say(at, "old")
	old := actortest.ID(w.Session(at).ID)
	deciding, asked := make(chan struct{}), make(chan struct{})
	g.set(func(g *gatedStore) {
		g.onDelete = func(*sessions.DeleteSession) error { close(asked); <-deciding; return nil }
	})
	done := make(chan actors.DeleteReply)
	go func() { done <- w.Delete(at) }()
	<-asked
	byKey, byID := w.Send(at, "new"), w.Send(old, "to the old one")
	close(deciding)
	require.EqualValues(t, 1, (<-done).Receipt.Sessions)
	require.Equal(t, "new", byKey.Completed())
	byID.Failed(sessions.CodeSessionNotFound)
	require.Len(t, w.History(at), 2)
}

// Of a prompt and a delete that race, one wins: the prompt completes in a session
// that is there, or it is told of the deletion; each gets one answer.
func TestPromptsRacingWithDeletes(t *testing.T) {
	w := world(t, oracleFunc(repeatUser), nil)
	var completed, deleted, busy atomic.Int64
	var all sync.WaitGroup
	faults := make(chan error, 10_000)
	for key := range 4 {
		at := actortest.Key(strconv.Itoa(key))
		for range 3 {
			all.Go(func() {
				for i := range 60 {
					r := w.Send(at, strconv.Itoa(i)).Reply()
					switch {
					case r.Err == nil:
						completed.Add(1)
					case r.Err.Code == sessions.CodeSessionDeleted:
						deleted.Add(1)
					case r.Err.Code == sessions.CodeAgentBusy:
						busy.Add(1)
					default:
						faults <- r.Err
					}
				}
			})
		}
		all.Go(func() {
			for range 60 {
				r, err := w.System.Delete(context.Background(), actors.Delete{Owner: actortest.Owner, At: at})
				if err != nil {
					faults <- err
				} else if r.Pending {
					faults <- sessions.Errorf(sessions.CodeInternal, "a delete is pending")
				}
			}
		})
	}
	all.Wait()
	close(faults)
	for err := range faults {
		require.NoError(t, err)
	}
	require.EqualValues(t, 4*3*60, completed.Load()+deleted.Load()+busy.Load())
	require.NotZero(t, completed.Load())
	_, running := w.System.Counts()
	require.Zero(t, running)
	for key := range 4 {
		at := actortest.Key(strconv.Itoa(key))
		w.Say(at, "after all")
		w.Delete(at)
	}
	w.AwaitIdle()
	unfinished, err := w.Store.BusyTurns(t.Context())
	require.NoError(t, err)
	require.Empty(t, unfinished)
}

// case 29, case 30: create and delete under one key, again and again.
func TestCase30DeleteAndAnewManyTimes(t *testing.T) {
	w := world(t, oracleFunc(repeatUser), nil)
	at := actortest.Key("a")
	for i := range 130 {
		require.Equal(t, strconv.Itoa(i), w.Say(at, strconv.Itoa(i)))
		require.Len(t, w.History(at), 2)
		require.EqualValues(t, 1, w.Delete(at).Receipt.Sessions)
	}
	w.AwaitIdle()
}
