package actors_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
)

// clocked returns profiles whose turns may run for 10 s, and whose tools may be run
// twice.
func clocked(steps ...scripted.Step) actortest.Profiles {
	return profiles(script(steps...), guarded, func(p *actors.Profile) {
		p.PromptTimeout, p.Repeatable = 10*time.Second, []string{"/t"}
	})
}

// startAgain opens a host on the files of another one, which was closed, and takes
// its turns up.
func startAgain(t *testing.T, w *actortest.World, p actortest.Profiles, m mounts) *actortest.World {
	t.Helper()
	w = actortest.NewInBubble(t, p, actortest.Config{Path: w.Path, Config: actors.Config{Tools: treeOf(t, m)}})
	require.NoError(t, w.System.Recover(t.Context()))
	return w
}

// slowly is a tool that takes a second.
var slowly = invoke(func(ctx context.Context, _ tools.Call) (json.RawMessage, error) {
	select {
	case <-time.After(time.Second):
		return json.RawMessage("1"), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
})

// The time in which there was no host does not count, also when the turn waits
// after it.
func TestTimeWithoutAHostDoesNotCountBeforeAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := make(chan struct{}, 1)
		p := clocked(calls("/t/hang"), calls("/ui/ask"), calls("/t/slow"), text("done"))
		w := actortest.NewInBubble(t, p, actortest.Config{Config: actors.Config{Tools: treeOf(t, mounts{"/t/hang": hang(started)})}})
		at := actortest.Key("a")
		w.Send(at, "work", actortest.As("r")).Accepted()
		<-started
		w.Close()
		time.Sleep(time.Hour)
		w = startAgain(t, w, p, mounts{"/t/hang": output(`1`), "/t/slow": slowly})
		pending := awaitWaiting(w, at)
		call := w.Send(at, "work", actortest.As("r"))
		mustAnswer(w, at, pending[0].CallID, gives(`1`))
		require.Equal(t, "done", call.Completed())
	})
}

// Nor does it when the host stops again.
func TestTimeWithoutAHostDoesNotCountTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := make(chan struct{}, 2)
		p := clocked(calls("/t/hang"), calls("/t/later"), calls("/t/slow"), text("done"))
		w := actortest.NewInBubble(t, p, actortest.Config{Config: actors.Config{Tools: treeOf(t, mounts{"/t/hang": hang(started)})}})
		at := actortest.Key("a")
		w.Send(at, "work", actortest.As("r")).Accepted()
		<-started
		w.Close()
		time.Sleep(time.Hour)
		w = startAgain(t, w, p, mounts{"/t/hang": output(`1`), "/t/later": hang(started), "/t/slow": slowly})
		<-started
		w.Close()
		w = startAgain(t, w, p, mounts{"/t/hang": output(`1`), "/t/later": output(`1`), "/t/slow": slowly})
		require.Equal(t, "done", w.Send(at, "work", actortest.As("r")).Completed())
	})
}

// Nor does it give the turn more time than it has.
func TestTimeWithoutAHostAfterAnAnswerGivesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := make(chan struct{}, 3)
		tree := mounts{"/t/guarded/hang": hang(started)}
		p := clocked(calls("/t/guarded/hang"), text("done"))
		w := actortest.NewInBubble(t, p, actortest.Config{
			Wrap: func(s sessions.Store) sessions.Store { return withoutGoOn{s} }, Config: actors.Config{Tools: treeOf(t, tree)},
		})
		at := actortest.Key("a")
		_, pending := waitingWork(w, at)
		mustAnswer(w, at, pending[0].CallID, approves(true))
		w.Close()
		time.Sleep(time.Hour)
		for range 2 {
			w = startAgain(t, w, p, tree)
			<-started
			time.Sleep(time.Second)
			w.Close()
		}
		w = startAgain(t, w, p, tree)
		<-started
		time.Sleep(11 * time.Second)
		synctest.Wait()
		require.Equal(t, sessions.TurnIsFailed, w.Turns(at)[0].Status)
		require.Equal(t, sessions.CodeAgentTimeout, w.Turns(at)[0].Error.Code)
	})
}
