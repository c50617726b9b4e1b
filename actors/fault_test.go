package actors_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// tripwire is a clock that panics once when it is set off: a fault within
// whichever actor looks at it next.
type tripwire struct{ armed atomic.Bool }

func (c *tripwire) now() time.Time {
	if c.armed.CompareAndSwap(true, false) {
		panic("a fault of a test")
	}
	return time.Now()
}

func tripped(t *testing.T, steps ...scripted.Step) (*actortest.World, *tripwire) {
	t.Helper()
	c := &tripwire{}
	w := actortest.New(t, profiles(script(steps...)), actortest.Config{Config: actors.Config{Now: c.now}})
	return w, c
}

func TestPanicOfAnIdleAgent(t *testing.T) {
	w, c := tripped(t)
	at := actortest.Key("a")
	w.Say(at, "hello")
	for range 5 {
		c.armed.Store(true)
		w.Send(at, "hello", actortest.As("r")).Failed(sessions.CodeInternal)
		w.AwaitIdle()
	}
	again := w.Send(at, "hello", actortest.As("r")).Reply()
	require.Nil(t, again.Err)
	require.False(t, again.Duplicate)
}

// Everyone who waits is answered, the turn ends, and another agent goes on.
func TestPanicOfAnAgentWithATurn(t *testing.T) {
	w, c := tripped(t, scripted.Step{Text: "half", Hang: true})
	at := actortest.Key("a")
	stream := w.System.Feed().NewStream()
	defer stream.Close()
	first := w.Send(at, "work", actortest.As("r"), actortest.Following(stream))
	joined := w.Send(at, "work", actortest.As("r"))
	joined.Accepted()
	for f := (sessions.Frame{Body: sessions.Started{}}); f.Type() != sessions.FrameDelta && f.Type() != sessions.FrameText; {
		var err error
		f, err = stream.Next(t.Context())
		require.NoError(t, err)
	}
	c.armed.Store(true)
	w.Send(at, "second").Failed(sessions.CodeInternal)
	first.Failed(sessions.CodeInternal)
	joined.Failed(sessions.CodeInternal)
	require.Equal(t, "fine", w.Say(at, "go on"))
	turns := w.Turns(at)
	require.Equal(t, sessions.TurnIsFailed, turns[0].Status)
	require.Equal(t, sessions.CodeInternal, turns[0].Error.Code)
	require.True(t, w.History(at)[1].Interrupted)
	w.Eventually(func() bool {
		_, busy := w.System.Counts()
		return busy == 0
	}, "that no turn is busy")
	require.Equal(t, sessions.CodeInternal, w.Send(at, "work", actortest.As("r")).Reply().Err.Code)
}

// A panic of the root takes nothing down, and leaves no session stuck.
func TestPanicOfTheRoot(t *testing.T) {
	w, c := tripped(t, scripted.Step{Hang: true})
	at, other := actortest.Key("a"), actortest.Key("b")
	w.Say(at, "hello")
	running := w.Send(other, "work")
	running.Accepted()
	c.armed.Store(true)
	_, err := w.System.Delete(t.Context(), actors.Delete{Owner: actortest.Owner, At: at})
	require.Equal(t, sessions.CodeInternal, sessions.CodeOf(err))
	require.NoError(t, w.System.Alive(t.Context()))
	require.Equal(t, "fine", w.Say(at, "go on"))
	require.True(t, w.Cancel(other))
	running.Failed(sessions.CodeCancelled)
	require.EqualValues(t, 1, w.Delete(at).Receipt.Sessions)
	require.EqualValues(t, 1, w.Delete(other).Receipt.Sessions)
	w.AwaitIdle()
}

func TestPanicOfTheRootDuringAClear(t *testing.T) {
	w, c := tripped(t)
	at := actortest.Key("a")
	w.Say(at, "hello")
	c.armed.Store(true)
	reply := make(chan actors.DeleteReply, 1)
	w.System.ActorSystem().Root.Send(w.System.Root(), &actors.ClearAll{Owner: actortest.Owner, Reply: reply})
	require.NoError(t, w.System.Alive(t.Context()))
	require.Equal(t, "fine", w.Say(at, "go on"))
	require.Equal(t, sessions.CodeInternal, (<-reply).Err.Code)
	require.EqualValues(t, 1, clearAll(t, w).Receipt.Sessions)
}

// Panics of the tree never reach the program, also when the log fails.
func TestPanicsAreLogged(t *testing.T) {
	log, c := &lines{}, &tripwire{}
	w := actortest.New(t, profiles(script()), actortest.Config{Config: actors.Config{Now: c.now, Logger: log.logger()}})
	at := actortest.Key("a")
	w.Say(at, "hello")
	c.armed.Store(true)
	w.Send(at, "hello").Failed(sessions.CodeInternal)
	require.Contains(t, log.String(), "agent panicked")
	require.Contains(t, log.String(), "a fault of a test")
}

// A panic of an agent answers those whose prompts wait, too; the prompts are not
// lost: another agent runs them, and a repeat joins.
func TestPanicOfAnAgentWithPromptsThatWait(t *testing.T) {
	w, c := tripped(t, scripted.Step{Text: "half", Hang: true})
	at := actortest.Key("a")
	first := w.Send(at, "work", actortest.As("r"))
	first.Accepted()
	queued := w.Send(at, "queued", with(sessions.BusyQueue), actortest.As("q"))
	text := w.Send(at, "text", steers, actortest.As("s"))
	queued.Accepted()
	text.Accepted()
	c.armed.Store(true)
	w.Send(at, "second", with(sessions.BusyQueue)).Failed(sessions.CodeInternal)
	for _, call := range []*actortest.Call{first, queued, text} {
		call.Failed(sessions.CodeInternal)
	}
	require.Equal(t, "fine", w.Say(at, "queued", actortest.As("q")))
	require.Equal(t, "fine", w.Say(at, "text", actortest.As("s")))
	require.Equal(t, []string{"work", "text", "queued"}, users(w.History(at)))
	w.Eventually(func() bool {
		_, busy := w.System.Counts()
		return busy == 0
	}, "that no turn is busy")
}

// Nobody has to ask for it: what an agent leaves behind is run by the next one.
func TestPanicOfAnAgentLeavesItsQueueToTheNext(t *testing.T) {
	w, c := tripped(t, scripted.Step{Text: "half", Hang: true})
	at := actortest.Key("a")
	w.Send(at, "work").Accepted()
	w.Send(at, "queued", with(sessions.BusyQueue)).Accepted()
	w.Send(at, "another", with(sessions.BusyQueue)).Accepted()
	c.armed.Store(true)
	w.Send(at, "second").Failed(sessions.CodeInternal)
	w.Eventually(func() bool { return w.Session(at).TurnCount == 3 }, "that the queue has run")
	w.Eventually(func() bool {
		_, busy := w.System.Counts()
		return busy == 0
	}, "that no turn is busy")
}
