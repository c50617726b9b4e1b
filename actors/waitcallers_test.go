package actors_test

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/sessions"
)

// Those who wait for a prompt that is queued behind a turn that waits, or have gone,
// keep nobody out.
func TestCallersOfAQueuedPromptLeaveTheEdgeWhileATurnWaits(t *testing.T) {
	for _, there := range []actortest.Option{nobodyWaits, func(*actors.Prompt) {}} {
		w := actortest.New(t, profiles(script(calls("/ui/ask"), text("done")), guarded),
			actortest.Config{Config: actors.Config{Limits: sessions.Limits{BusyTurns: 2}}})
		at := actortest.Key("a")
		_, pending := waitingWork(w, at, nobodyWaits)
		requireNoBusy(t, w) // the place is free a moment after the wait is stored
		for range 20 {
			w.Send(at, "hello", actortest.As("q"), with(sessions.BusyQueue), there).Accepted()
		}
		require.Equal(t, "fine", w.Say(actortest.Key("b"), "hello"))
		mustAnswer(w, at, pending[0].CallID, gives(`1`))
		require.Equal(t, "fine", w.Say(at, "hello", actortest.As("q"), with(sessions.BusyQueue)))
	}
}

// alive counts the prompts that are in memory, and those whose content is.
type alive struct {
	prompts  []weak.Pointer[actors.Prompt]
	contents []weak.Pointer[sessions.Content]
}

func (a *alive) watch(p *actors.Prompt) {
	a.prompts = append(a.prompts, weak.Make(p))
	a.contents = append(a.contents, weak.Make(&p.Content[0]))
}

func (a *alive) count() (prompts, contents int) {
	runtime.GC()
	for i := range a.prompts {
		if a.prompts[i].Value() != nil {
			prompts++
		}
		if a.contents[i].Value() != nil {
			contents++
		}
	}
	return prompts, contents
}

// However often a prompt is repeated, only those are kept in memory who wait, and
// nobody's content is.
func TestRepeatsWhoseCallersHaveGoneAreForgotten(t *testing.T) {
	gate := make(chan struct{})
	tree := mounts{"/t/gated": gated(gate)}
	for name, step := range map[string]string{"while the turn waits": "/ui/ask", "while the turn runs": "/t/gated"} {
		t.Run(name, func(t *testing.T) {
			w := world(t, script(calls(step), text("done")), tree, guarded, shortTTL)
			at, seen := actortest.Key("a"), &alive{}
			call := w.Send(at, "work", actortest.As("r"))
			call.Accepted()
			if step == "/ui/ask" {
				awaitWaiting(w, at)
			}
			w.Send(at, "hello", actortest.As("q"), with(sessions.BusyQueue), seen.watch).Accepted()
			for range 50 {
				w.Send(at, "work", actortest.As("r"), seen.watch, nobodyWaits).Accepted()
				w.Send(at, "hello", actortest.As("q"), with(sessions.BusyQueue), seen.watch, nobodyWaits).Accepted()
			}
			w.Eventually(func() bool {
				prompts, contents := seen.count()
				return prompts < 10 && contents == 0
			}, "that who has gone is forgotten")
			w.Cancel(at)
			call.Failed(sessions.CodeCancelled)
			w.AwaitIdle()
		})
	}
}

// Text of a stream that steers a turn is answered when the turn waits, with the
// frame up to which the answer is.
func TestStreamedTextIsFollowedUpToTheWait(t *testing.T) {
	for _, early := range []bool{true, false} {
		gate := make(chan struct{})
		w := world(t, script(calls("/t/gated", "/ui/ask"), text("done")), mounts{"/t/gated": gated(gate)}, guarded, shortTTL)
		at := actortest.Key("a")
		w.Send(at, "work").Accepted()
		w.Eventually(func() bool { return w.Session(at).MessageCount == 2 }, "that the model has asked for the calls")
		if !early {
			close(gate)
			awaitWaiting(w, at)
		}
		stream := w.System.Feed().NewStream()
		defer stream.Close()
		s := w.Send(at, "more", with(sessions.BusySteer), untilWaiting, actortest.Following(stream))
		s.Accepted()
		if early {
			close(gate)
		}
		r := s.Reply()
		require.Equal(t, sessions.TurnIsWaiting, r.Turn.Status)
		soon, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		frame, err := stream.Next(soon)
		require.NoError(t, err, "early: %v", early)
		require.Equal(t, r.Turn.LastFrame, frame.Seq)
		w.Cancel(at)
		w.AwaitIdle()
	}
}

// What a session tells of other turns is behind no reply about the turn that waits.
func TestATurnThatWaitsEndsWithItsOwnFrame(t *testing.T) {
	for name, between := range map[string]func(*actortest.World, sessions.Address, sessions.Pending){
		"evicted": func(w *actortest.World, at sessions.Address, _ sessions.Pending) { awaitEvicted(w, at) },
		"answered before": func(w *actortest.World, at sessions.Address, p sessions.Pending) {
			require.True(w.T, mustAnswer(w, at, p.CallID, gives(`1`)).Repeat)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := world(t, script(calls("/ui/ask", "/ui/ask"), text("done")), nil, guarded, shortTTL)
			at := actortest.Key("a")
			_, pending := waitingWork(w, at, actortest.As("r"), nobodyWaits)
			mustAnswer(w, at, pending[0].CallID, gives(`1`))
			w.Send(at, "next", actortest.As("q"), with(sessions.BusyQueue), nobodyWaits).Accepted()
			withdrawn, err := w.System.Cancel(t.Context(), actors.Cancel{Owner: actortest.Owner, At: at, RequestID: "q"})
			require.NoError(t, err)
			require.True(t, withdrawn)
			between(w, at, pending[0])
			r := w.Send(at, "work", actortest.As("r"), untilWaiting).Reply()
			require.Equal(t, sessions.TurnIsWaiting, r.Turn.Status)
			own := slices.DeleteFunc(w.Frames(at), func(f sessions.Frame) bool { return f.TurnID != r.Turn.TurnID })
			require.Equal(t, own[len(own)-1].Seq, r.Turn.LastFrame)
			w.Cancel(at)
			w.AwaitIdle()
		})
	}
}
