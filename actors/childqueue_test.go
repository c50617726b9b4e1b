package actors_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// Whatever ends the turn that a child has been asked for, the child's own prompts
// wait for nothing but that: they run, unless the child is deleted with its parent.
func TestPromptsThatWaitForAChild(t *testing.T) {
	del := func(w *actortest.World, at sessions.Address, children sessions.ChildPolicy) {
		_, err := w.System.Delete(w.T.Context(), actors.Delete{Owner: actortest.Owner, At: at, Children: children})
		require.NoError(w.T, err)
	}
	for name, c := range map[string]struct {
		end  func(w *actortest.World, at sessions.Address)
		gone bool
	}{
		"delete": {func(w *actortest.World, at sessions.Address) { del(w, at, sessions.Cascade) }, true},
		"detach": {func(w *actortest.World, at sessions.Address) { del(w, at, sessions.Detach) }, false},
		"close": {func(w *actortest.World, at sessions.Address) {
			_, err := w.System.Close(w.T.Context(), actors.Close{Owner: actortest.Owner, At: at})
			require.NoError(w.T, err)
		}, false},
		"cancel": {func(w *actortest.World, at sessions.Address) { require.True(w.T, w.Cancel(at)) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := family(acts("work", asks(`{"prompt":"slow"}`), text("done")), acts("slow", scripted.Step{Hang: true}))
			w := world(t, o, nil, delegating)
			at := actortest.Key("a")
			w.Send(at, "work").Accepted()
			require.NoError(t, o.Await(t.Context(), 2))
			w.Eventually(func() bool { return len(childFrames(w, at)) == 1 }, "that the child is shown")
			child := actortest.ID(oneChild(t, w, at).SessionID)
			var queued []*actortest.Call
			for i := range 3 {
				queued = append(queued, w.Send(child, fmt.Sprint("next ", i), with(sessions.BusyQueue)))
				queued[i].Accepted()
			}
			unread := w.Send(child, "text", steers)
			unread.Accepted()
			c.end(w, at)
			if c.gone {
				for _, call := range append(queued, unread) {
					call.Failed(sessions.CodeSessionDeleted)
				}
			} else {
				unread.Failed(sessions.CodeCancelled)
				for _, call := range queued {
					require.Equal(t, "fine", call.Completed())
				}
				require.Equal(t, []string{"slow", "next 0", "next 1", "next 2"}, users(w.History(child)))
			}
			w.Eventually(func() bool {
				_, busy := w.System.Counts()
				return busy == 0
			}, "that no turn is busy")
		})
	}
}

// What others ask of a child is not its parent's, after a restart as before it: the
// parent does not stay for it, and so does not end it either.
func TestAParentLeavesAloneWhatOthersAskOfItsChild(t *testing.T) {
	o := func() *scripted.StrictOracle { return family(acts("from others", scripted.Step{Hang: true})) }
	before := o()
	w := actortest.Open(t, profiles(before, delegating, shortTTL), actortest.Config{})
	at, child := actortest.Key("a"), actortest.ID("child")
	w.Say(at, "hello")
	_, err := w.Store.CreateSession(t.Context(), sessions.CreateSession{Owner: actortest.Owner, At: child, Profile: sessions.DefaultProfile,
		ParentID: w.Session(at).ID, ParentLocation: sessions.Local})
	require.NoError(t, err)
	w.Send(child, "from others", actortest.As("q")).Accepted()
	require.NoError(t, before.Await(t.Context(), 2))
	w = cutAndReopen(t, w, profiles(o(), delegating, shortTTL), nil)

	w.Say(at, "hello again")
	w.Eventually(func() bool { return !w.Resident(at) }, "that the parent has left")
	require.Equal(t, sessions.TurnIsRunning, w.Turns(child)[0].Status)
	require.True(t, w.Cancel(child))
}

// A parent that waits for its companion, and is cancelled, leaves alone a turn that
// others have asked the companion for.
func TestACancelledWaitLeavesAloneWhatOthersAsk(t *testing.T) {
	gate := make(chan struct{})
	o := family(bid("begin", helper("ask", "hello")), bid("collect", helper("wait", "")),
		acts("from others", scripted.Step{Gate: gate, Text: "theirs"}))
	w := actortest.New(t, profiles(o, delegating, shortTTL), actortest.Config{})
	at := actortest.Key("a")
	w.Say(at, "begin")
	child := actortest.ID(refsOf(t, w, at)[0].SessionID)
	theirs := w.Send(child, "from others")
	theirs.Accepted()
	collect := w.Send(at, "collect")
	collect.Accepted()
	require.NoError(t, o.Await(t.Context(), 5))
	require.True(t, w.Cancel(at))
	collect.Failed(sessions.CodeCancelled)
	w.Eventually(func() bool { return !w.Resident(at) }, "that the call is over, and the parent has left")
	close(gate)
	require.Equal(t, "theirs", theirs.Completed())
}

// After a restart, too, a parent ends what its companion works at, and not the
// prompts that others have sent there.
func TestAParentAttendsNoPromptThatWaitsForItsCompanion(t *testing.T) {
	o := func() *scripted.StrictOracle {
		return family(bid("begin", helper("spawn", "long work")), acts("hang on", scripted.Step{Hang: true}), acts("long work", scripted.Step{Hang: true}))
	}
	before := o()
	w := actortest.Open(t, profiles(before, delegating), actortest.Config{})
	at := actortest.Key("a")
	w.Say(at, "begin")
	require.NoError(t, before.Await(t.Context(), 3))
	child := actortest.ID(refsOf(t, w, at)[0].SessionID)
	w.Send(child, "from others", with(sessions.BusyQueue), actortest.As("q")).Accepted()
	w = cutAndReopen(t, w, profiles(o(), delegating), nil)

	w.Send(at, "hang on").Accepted()
	require.True(t, w.Cancel(at))
	require.Equal(t, "fine", w.Say(child, "from others", actortest.As("q")))
	require.Equal(t, []string{"long work", "from others"}, users(w.History(child)))
}
