package actors_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// together sends deletes to the root, one right after the other.
func together(w *actortest.World, ids ...sessions.SessionID) []actors.DeleteReply {
	replies := make([]chan actors.DeleteReply, len(ids))
	for i, id := range ids {
		replies[i] = make(chan actors.DeleteReply, 1)
		w.System.ActorSystem().Root.Send(w.System.Root(), &actors.Delete{
			Owner: actortest.Owner, At: actortest.ID(id), Reply: replies[i],
		})
	}
	got := make([]actors.DeleteReply, len(ids))
	for i, reply := range replies {
		got[i] = <-reply
	}
	return got
}

// case 27: a child and its parent in one go, in both orders, with agents at work
// in both: everything ends once, and both are told the truth.
func TestCase27ChildAndParentInOneGo(t *testing.T) {
	w := world(t, script(scripted.Step{Hang: true}), nil)
	for round := range 60 {
		parent := sessions.SessionID(fmt.Sprint("p", round))
		child := parent + "-c"
		bear(t, w.Store, parent, "")
		bear(t, w.Store, child, parent)
		var running []*actortest.Call
		for _, id := range []sessions.SessionID{parent, child} {
			running = append(running, w.Send(actortest.ID(id), "work"))
			running[len(running)-1].Accepted()
		}
		order := []sessions.SessionID{child, parent}
		if round%2 == 1 {
			order = []sessions.SessionID{parent, child}
		}
		total := int64(0)
		for i, r := range together(w, order...) {
			require.Nil(t, r.Err)
			require.False(t, r.Pending)
			if r.Receipt != nil {
				total += r.Receipt.Sessions
			} else {
				require.Equal(t, child, order[i], "the parent ends by its own delete")
			}
		}
		require.EqualValues(t, 2, total)
		for _, call := range running {
			call.Failed(sessions.CodeSessionDeleted)
		}
		requireNothing(t, w)
	}
	w.AwaitIdle()
}

// case 27: the parent's delete comes first although the child's has begun.
func TestCase27ParentOvertakesChild(t *testing.T) {
	g := &gatedStore{}
	w := actortest.New(t, profiles(script(scripted.Step{Hang: true})), actortest.Config{Wrap: g.wrap})
	bear(t, w.Store, "p", "")
	bear(t, w.Store, "c", "p")
	call := w.Send(actortest.ID("c"), "work")
	call.Accepted()
	begun, deciding := make(chan struct{}), make(chan struct{})
	g.set(func(g *gatedStore) {
		g.onDelete = func(c *sessions.DeleteSession) error {
			if c.At.ID == "c" {
				close(begun)
				<-deciding
			}
			return nil
		}
	})
	late := make(chan actors.DeleteReply, 1)
	go func() { late <- w.Delete(actortest.ID("c")) }()
	<-begun
	held := w.Send(actortest.ID("c"), "meanwhile")
	require.EqualValues(t, 2, w.Delete(actortest.ID("p")).Receipt.Sessions)
	call.Failed(sessions.CodeSessionDeleted)
	held.Failed(sessions.CodeSessionNotFound)
	close(deciding)
	require.Nil(t, (<-late).Receipt)
	resident, busy := w.System.Counts()
	require.Zero(t, resident)
	require.Zero(t, busy)
}

// A turn that the tree's end has met before the root knew its session ends as
// the others do.
func TestDeleteATreeDuringAFirstAccept(t *testing.T) {
	announced := make(chan struct{})
	g := &gatedStore{}
	w := actortest.New(t, profiles(script(scripted.Step{Hang: true})), actortest.Config{
		Config: actors.Config{Announce: func() { close(announced) }}, Wrap: g.wrap,
	})
	bear(t, w.Store, "p", "")
	at := actortest.Key("a")
	accepted, goOn := make(chan struct{}), make(chan struct{})
	g.set(func(g *gatedStore) {
		g.onAccept = func(sessions.AcceptTurn) error { bear(t, g.Store, "c", "p", at.Key); return nil }
		g.onAccepted = func() { close(accepted); <-goOn }
	})
	call := w.Send(at, "work")
	<-accepted
	g.set(func(g *gatedStore) { g.onAccept, g.onAccepted = nil, nil })
	deleted := make(chan actors.DeleteReply, 1)
	go func() { deleted <- w.Delete(actortest.ID("p")) }()
	<-announced
	held := w.Send(at, "hello")
	require.Empty(t, deleted, "the agent has not said yet whose it is")
	close(goOn)
	call.Failed(sessions.CodeSessionDeleted)
	require.EqualValues(t, 2, (<-deleted).Receipt.Sessions)
	require.Equal(t, "fine", held.Completed())
	require.NotEqual(t, sessions.SessionID("c"), w.Session(at).ID)
}

// An agent that makes a session of its own goes on, and takes what was held.
func TestDeleteATreeDuringAnothersFirstAccept(t *testing.T) {
	g := &gatedStore{}
	w := actortest.New(t, profiles(script()), actortest.Config{Wrap: g.wrap})
	bearTree(t, w, "r")
	at := actortest.Key("a")
	asked, goOn := make(chan struct{}), make(chan struct{})
	g.set(func(g *gatedStore) {
		g.onAccept = func(sessions.AcceptTurn) error { close(asked); <-goOn; return nil }
	})
	call := w.Send(at, "hello")
	<-asked
	g.set(func(g *gatedStore) { g.onAccept = nil })
	replies := make(chan actors.DeleteReply, 2)
	for _, id := range []sessions.SessionID{"r-0", "r"} {
		go func() { replies <- w.Delete(actortest.ID(id)) }()
	}
	w.Eventually(func() bool {
		page, err := w.Store.Sessions(t.Context(), sessions.SessionQuery{Owner: actortest.Owner, Limit: 10})
		return err == nil && len(page.Sessions) == 0
	}, "that both are hidden")
	held := w.Send(at, "again")
	close(goOn)
	require.Equal(t, "fine", call.Completed())
	held.Reply() // busy or completed: it was not lost
	total := int64(0)
	for range 2 {
		if r := <-replies; r.Receipt != nil {
			total += r.Receipt.Sessions
		}
	}
	require.EqualValues(t, 7, total)
	require.Equal(t, "fine", w.Say(at, "still here"))
}

// What the root hears of a session after the session's end is asked again.
func TestDeleteATreeWhileTheStoreIsAsked(t *testing.T) {
	g := &gatedStore{}
	w := actortest.New(t, profiles(script()), actortest.Config{Wrap: g.wrap})
	at := actortest.Key("a")
	bear(t, w.Store, "p", "")
	bear(t, w.Store, "c", "p", at.Key)
	asked, answers := make(chan struct{}, 2), make(chan struct{})
	g.set(func(g *gatedStore) {
		g.onResolved = func(at sessions.Address) {
			if at.ID != "p" {
				asked <- struct{}{}
				<-answers
			}
		}
	})
	byKey, byID := w.Send(at, "hello"), w.Send(actortest.ID("c"), "hello")
	<-asked
	<-asked
	require.EqualValues(t, 2, w.Delete(actortest.ID("p")).Receipt.Sessions)
	later := w.Send(at, "work")
	g.set(func(g *gatedStore) { g.onResolved = nil })
	close(answers)
	require.Equal(t, "fine", byKey.Completed())
	byID.Failed(sessions.CodeSessionNotFound)
	later.Reply()
	require.NotEqual(t, sessions.SessionID("c"), w.Session(at).ID)
}

// A request for the id of a session that is just being made is not left behind
// when the root learns both names of it.
func TestRequestsForTheIDOfASessionBeingMade(t *testing.T) {
	g := &gatedStore{}
	w := actortest.New(t, profiles(script(scripted.Step{Hang: true})), actortest.Config{Wrap: g.wrap})
	at := actortest.Key("a")
	accepted, goOn := make(chan struct{}), make(chan struct{})
	resolved, answers := make(chan struct{}), make(chan struct{})
	g.set(func(g *gatedStore) {
		g.onAccepted = func() { close(accepted); <-goOn }
		g.onResolved = func(at sessions.Address) {
			if at.ID != "" {
				close(resolved)
				<-answers
			}
		}
	})
	call := w.Send(at, "work")
	<-accepted
	cancelled := make(chan bool, 1)
	go func() { cancelled <- w.Cancel(actortest.ID(w.Session(at).ID)) }()
	<-resolved
	close(goOn)
	call.Accepted()
	w.Eventually(func() bool { return w.System.Alive(t.Context()) == nil }, "that the root has heard")
	require.True(t, <-cancelled)
	close(answers)
	call.Failed(sessions.CodeCancelled)
}

// A delete by key may meet a session that was made since the key was looked up.
func TestDeleteOfASessionThatTheRootHasNotMet(t *testing.T) {
	g := &gatedStore{}
	w := actortest.New(t, profiles(script()), actortest.Config{Wrap: g.wrap})
	at := actortest.Key("a")
	g.set(func(g *gatedStore) {
		g.onResolved = func(sessions.Address) { bear(t, g.Store, "since", "", at.Key) }
	})
	r := w.Delete(at)
	g.set(func(g *gatedStore) { g.onResolved = nil })
	require.EqualValues(t, 1, r.Receipt.Sessions)
	require.Equal(t, "fine", w.Say(at, "anew"))
}

// Everything at once: each request gets one answer, and nothing is left.
func TestTreesRacingWithEverything(t *testing.T) {
	w := world(t, oracleFunc(func(ctx context.Context, r oracle.Request, yield func(oracle.Part, error) bool) {
		if rand.IntN(4) == 0 {
			<-ctx.Done()
			yield(nil, ctx.Err())
			return
		}
		repeatUser(ctx, r, yield)
	}), nil, shortTTL)
	var all sync.WaitGroup
	faults := make(chan error, 10_000)
	expect := func(err error, codes ...sessions.Code) {
		for _, code := range append(codes, "") {
			if sessions.CodeOf(err) == code {
				return
			}
		}
		faults <- err
	}
	ids := []sessions.SessionID{"r", "r-0", "r-1", "r-0-0", "r-0-1"}
	parents := map[sessions.SessionID]sessions.SessionID{"r-0": "r", "r-1": "r", "r-0-0": "r-0", "r-0-1": "r-0"}
	address := func(id sessions.SessionID) sessions.Address {
		if rand.IntN(2) == 0 {
			return actortest.Key(string(id))
		}
		return actortest.ID(id)
	}
	stop := make(chan struct{})
	prompting := sync.WaitGroup{}
	for _, id := range ids {
		prompting.Go(func() {
			for range 60 {
				c := sessions.CreateSession{Owner: actortest.Owner, At: sessions.Address{ID: id, Key: actortest.Key(string(id)).Key}, Now: 1}
				if c.ParentID = parents[id]; c.ParentID != "" {
					c.ParentLocation = sessions.Local
				}
				_, err := w.Store.CreateSession(context.Background(), c)
				expect(err, sessions.CodeSessionNotFound, sessions.CodeConflict)
				if r := w.Send(address(id), "hello").Reply(); r.Err != nil {
					expect(r.Err, sessions.CodeSessionNotFound, sessions.CodeSessionDeleted, sessions.CodeAgentBusy, sessions.CodeCancelled)
				}
			}
		})
	}
	act := func(do func(at sessions.Address) error, codes ...sessions.Code) {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					expect(do(address(ids[rand.IntN(len(ids))])), codes...)
				}
			}
		})
	}
	ctx := context.Background()
	for range 2 {
		act(func(at sessions.Address) error {
			_, err := w.System.Delete(ctx, actors.Delete{Owner: actortest.Owner, At: at})
			return err
		})
	}
	act(func(at sessions.Address) error {
		_, err := w.System.Cancel(ctx, actors.Cancel{Owner: actortest.Owner, At: at})
		return err
	}, sessions.CodeSessionNotFound, sessions.CodeSessionDeleted)
	act(func(at sessions.Address) error {
		_, err := w.System.Delete(ctx, actors.Delete{Owner: actortest.Owner, At: at, RejectIfBusy: true, Children: sessions.Detach})
		return err
	}, sessions.CodeConflict)
	act(func(sessions.Address) error {
		_, err := w.System.ClearAll(ctx, actors.ClearAll{Owner: actortest.Owner})
		return err
	}, sessions.CodeConflict)
	prompting.Wait()
	close(stop)
	all.Wait()
	close(faults)
	for err := range faults {
		require.NoError(t, err)
	}
	clearAll(t, w)
	requireNothing(t, w)
	w.AwaitIdle()
}
