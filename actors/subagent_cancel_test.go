package actors_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

func TestCase39CancelOfTheRootEndsEveryLevel(t *testing.T) {
	started := make(chan struct{}, 1)
	o := family(acts("level 0", asks(`{"prompt":"level 1"}`)), acts("level 1", asks(`{"prompt":"level 2"}`)),
		acts("level 2", asks(`{"prompt":"level 3"}`)), acts("level 3", calls("/t/hang")))
	w := world(t, o, mounts{"/t/hang": hang(started)}, func(p *actors.Profile) { p.Tools = []string{"/agents", "/t"} })
	at := actortest.Key("a")
	call := w.Send(at, "level 0")
	<-started
	require.True(t, w.Cancel(at))
	call.Failed(sessions.CodeCancelled)
	for level := range 4 {
		w.Eventually(func() bool { return w.Turns(at)[0].Status == sessions.TurnIsCancelled }, "that the level is cancelled")
		require.Equal(t, "fine", w.Say(at, "go on"))
		if level < 3 {
			at = actortest.ID(refsOf(t, w, at)[0].SessionID)
		}
	}
}

// spawning is a world whose session "a" has spawned a companion that is at work
// until the gate opens.
func spawning(t *testing.T, gate <-chan struct{}, change ...func(*actors.Profile)) (w *actortest.World, child sessions.Address) {
	t.Helper()
	o := family(bid("begin", helper("spawn", "long work")), acts("hang on", scripted.Step{Hang: true}),
		acts("long work", scripted.Step{Gate: gate, Text: "42"}))
	w = world(t, o, nil, append(change, delegating)...)
	require.Equal(t, "done", w.Say(actortest.Key("a"), "begin"))
	return w, actortest.ID(refsOf(t, w, actortest.Key("a"))[0].SessionID)
}

func TestCancelReachesACompanionOfAnEarlierTurn(t *testing.T) {
	w, child := spawning(t, make(chan struct{}))
	call := w.Send(actortest.Key("a"), "hang on")
	call.Accepted()
	require.Equal(t, sessions.StatusRunning, w.Session(child).Status)
	require.True(t, w.Cancel(actortest.Key("a")))
	w.Eventually(func() bool { return w.Turns(child)[0].Status == sessions.TurnIsCancelled }, "that the companion's turn is cancelled")
}

func TestClosingAParentCancelsItsCompanion(t *testing.T) {
	w, child := spawning(t, make(chan struct{}))
	require.Equal(t, sessions.StatusClosed, closeSession(t, w, actortest.Key("a"), "").Status)
	w.Eventually(func() bool { return w.Turns(child)[0].Status == sessions.TurnIsCancelled }, "that the companion's turn is cancelled")
	require.Equal(t, "fine", w.Say(child, "hello"))
}

func TestDeletingAParentDoesNotWaitForItsCompanion(t *testing.T) {
	w, _ := spawning(t, make(chan struct{}))
	r := w.Delete(actortest.Key("a"))
	require.EqualValues(t, 2, r.Receipt.Sessions)
	require.False(t, r.Pending)
	w.AwaitIdle()
}

func TestAParentStaysWhileItsCompanionWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		o := family(bid("begin", helper("spawn", "long work")), acts("long work", scripted.Step{Gate: gate, Text: "42"}))
		w := actortest.NewInBubble(t, profiles(o, delegating, func(p *actors.Profile) { p.IdleTTL = time.Second }), actortest.Config{})
		at := actortest.Key("a")
		w.Say(at, "begin")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.True(t, w.Resident(at))
		close(gate)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.False(t, w.Resident(at))
	})
}

// The parent waits for longer than it may be idle, and than a tool call may take.
func TestCase31TheWaitForAChildSurvives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := family(acts("work", asks(`{"prompt":"slow"}`), text("done")), acts("slow", scripted.Step{Delay: 10 * time.Second, Text: "42"}))
		w := actortest.NewInBubble(t, profiles(o, delegating, func(p *actors.Profile) {
			p.IdleTTL, p.ToolTimeout = time.Second, time.Second
		}), actortest.Config{})
		at := actortest.Key("a")
		require.Equal(t, "done", w.Say(at, "work"))
		require.JSONEq(t, `"42"`, lastOutput(t, w, at))
	})
}

func TestAParentThatRunsOutOfTimeCancelsItsChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := family(acts("work", asks(`{"prompt":"slow"}`)), acts("slow", scripted.Step{Hang: true}))
		w := actortest.NewInBubble(t, profiles(o, delegating), actortest.Config{})
		at := actortest.Key("a")
		call := w.Send(at, "work", func(p *actors.Prompt) { p.PromptTimeoutMs = 1000 })
		call.Failed(sessions.CodeAgentTimeout)
		synctest.Wait()
		child := oneChild(t, w, at)
		require.Equal(t, sessions.TurnIsCancelled, w.Turns(actortest.ID(child.SessionID))[0].Status)
	})
}
