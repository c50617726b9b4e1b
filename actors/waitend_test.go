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

// waitingWorld is a World whose turns wait for a client's tool and for an approval,
// while another call has its result.
func waitingWorld(t *testing.T, change ...func(*actors.Profile)) *actortest.World {
	t.Helper()
	return world(t, script(calls("/ui/ask", "/t/guarded/write", "/t/one"), text("done")),
		mounts{"/t/guarded/write": output(`"written"`), "/t/one": output(`1`)}, append(change, guarded)...)
}

// ends are the ways in which a turn that waits may be ended.
var ends = map[string]struct {
	end  func(*actortest.World, sessions.Address)
	code sessions.Code
	gone bool
}{
	"cancel": {func(w *actortest.World, at sessions.Address) { require.True(w.T, w.Cancel(at)) }, sessions.CodeCancelled, false},
	"detach": {func(w *actortest.World, at sessions.Address) {
		s, err := w.System.Detach(w.T.Context(), actors.Detach{Owner: actortest.Owner, At: at})
		require.NoError(w.T, err)
		require.Equal(w.T, sessions.StatusIdle, s.Status)
	}, sessions.CodeCancelled, false},
	"close": {func(w *actortest.World, at sessions.Address) {
		s, err := w.System.Close(w.T.Context(), actors.Close{Owner: actortest.Owner, At: at})
		require.NoError(w.T, err)
		require.Equal(w.T, sessions.StatusClosed, s.Status)
	}, sessions.CodeCancelled, false},
	"delete": {func(w *actortest.World, at sessions.Address) {
		require.EqualValues(w.T, 1, w.Delete(at).Receipt.Sessions)
	}, sessions.CodeSessionDeleted, true},
}

// requireEnded requires that a turn that waited for a client's tool, which answered
// if answered says so, and for an approval has ended as a cut one does.
func requireEnded(t *testing.T, w *actortest.World, at sessions.Address, pending []sessions.Pending, answered bool) {
	t.Helper()
	results := lastResults(w.History(at))
	require.Len(t, results, 3)
	if answered {
		requireOutputs(t, results, `"mine"`, "", `1`)
		require.True(t, mustAnswerOrClosed(w, at, pending[0].CallID, gives(`"mine"`)))
	} else {
		requireOutputs(t, results, "", "", `1`)
		require.Equal(t, sessions.CodeCancelled, results[0].Error.Code)
		require.Contains(t, results[0].Error.Message, "not run")
	}
	require.Equal(t, sessions.CodeCancelled, results[1].Error.Code)
	require.Contains(t, results[1].Error.Message, "not run")
	require.Empty(t, w.Session(at).Pending)
	requireNoBusy(t, w)
}

// mustAnswerOrClosed repeats an answer and reports whether the store remembers it;
// a closed session takes none.
func mustAnswerOrClosed(w *actortest.World, at sessions.Address, call sessions.CallID, a sessions.CallAnswer) bool {
	w.T.Helper()
	r, err := giveAnswer(w, at, call, a)
	return r.Repeat || sessions.CodeOf(err) == sessions.CodeSessionClosed
}

// case 42: cancel while an approval is pending, then prompt. The same holds for
// every other end, whether the session is in memory or not, and whether a call was
// answered before.
func TestCase42TheEndOfATurnThatWaits(t *testing.T) {
	for name, how := range ends {
		for _, evicted := range []bool{false, true} {
			for _, answered := range []bool{false, true} {
				t.Run(name, func(t *testing.T) {
					w := waitingWorld(t, shortTTL)
					at := actortest.Key("a")
					options := []actortest.Option{actortest.As("r")}
					if evicted {
						options = append(options, nobodyWaits)
					}
					call, pending := waitingWork(w, at, options...)
					if answered {
						mustAnswer(w, at, pending[0].CallID, gives(`"mine"`))
					}
					if evicted {
						awaitEvicted(w, at)
					}
					how.end(w, at)
					if !evicted {
						call.Failed(how.code)
					}
					if how.gone {
						require.Equal(t, "fine", w.Say(at, "go on"), "a new session")
						requireNoBusy(t, w)
						return
					}
					requireEnded(t, w, at, pending, answered)
					if name == "close" {
						return
					}
					requireNotAnswered(w, at, pending[1].CallID, approves(true), sessions.CodeNotFound)
					require.Equal(t, "fine", w.Say(at, "go on"))
					call, pending = waitingWork(w, at)
					mustAnswer(w, at, pending[0].CallID, gives(`1`))
					mustAnswer(w, at, pending[1].CallID, approves(true))
					require.Equal(t, "done", call.Completed())
				})
			}
		}
	}
}

// A turn's clock stands still while it waits, each time, and goes on afterwards.
func TestTheClockStandsStillWhileATurnWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := scripted.Step{Delay: 4 * time.Second, Calls: []scripted.Call{{Path: "/ui/ask"}}}
		w := actortest.NewInBubble(t, profiles(script(slow, slow, scripted.Step{Hang: true}), guarded, func(p *actors.Profile) {
			p.PromptTimeout = 10 * time.Second
		}), actortest.Config{})
		at := actortest.Key("a")
		call := w.Send(at, "work")
		for range 2 {
			time.Sleep(5 * time.Second)
			synctest.Wait()
			pending := w.Session(at).Pending
			require.Len(t, pending, 1)
			time.Sleep(24 * time.Hour)
			mustAnswer(w, at, pending[0].CallID, gives(`1`))
		}
		r := call.Failed(sessions.CodeAgentTimeout)
		require.Equal(t, 48*time.Hour+2*time.Second+10*time.Second, r.Turn.EndedAt.Sub(r.Turn.StartedAt))
		require.Equal(t, "promptTimeoutMs", r.Err.Details["limit"])
	})
}

func TestAWaitHasALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := actortest.NewInBubble(t, profiles(script(calls("/ui/ask"), calls("/ui/ask"), text("done")), guarded, func(p *actors.Profile) {
			p.WaitTimeout = time.Hour
		}), actortest.Config{})
		at := actortest.Key("a")
		w.Send(at, "work", actortest.As("r"), nobodyWaits)
		time.Sleep(50 * time.Minute)
		synctest.Wait()
		require.True(t, w.Resident(at), "its agent stays to end it")
		mustAnswer(w, at, w.Session(at).Pending[0].CallID, gives(`1`)) // the next wait has all of the hour
		time.Sleep(50 * time.Minute)
		synctest.Wait()
		require.Equal(t, sessions.StatusWaiting, w.Session(at).Status)
		r := w.Send(at, "work", actortest.As("r")).Failed(sessions.CodeAgentTimeout)
		require.Equal(t, 50*time.Minute+time.Hour, r.Turn.EndedAt.Sub(r.Turn.StartedAt))
		require.Equal(t, "waitTimeout", r.Err.Details["limit"])
		require.Equal(t, sessions.StatusFailed, w.Session(at).Status)
		require.Contains(t, lastResults(w.History(at))[0].Error.Message, "not run")
		require.Equal(t, "fine", w.Say(at, "go on"))
	})
}

// A turn is cut while calls that were approved run, and while those run that wait
// for nobody: only what ran is said to have run.
func TestCutBeforeAndAfterTheWait(t *testing.T) {
	started := make(chan struct{}, 1)
	w := world(t, script(calls("/ui/ask", "/t/guarded/hang"), text("done")), mounts{"/t/guarded/hang": hang(started)}, guarded)
	at := actortest.Key("a")
	call, pending := waitingWork(w, at)
	mustAnswer(w, at, pending[1].CallID, approves(true))
	mustAnswer(w, at, pending[0].CallID, gives(`"mine"`))
	<-started
	require.Equal(t, sessions.StatusRunning, w.Session(at).Status)
	require.True(t, w.Cancel(at))
	call.Failed(sessions.CodeCancelled)
	results := lastResults(w.History(at))
	requireOutputs(t, results, `"mine"`, "")
	require.Contains(t, results[1].Error.Message, "interrupted")

	w = world(t, script(calls("/ui/ask", "/t/hang"), text("done")), mounts{"/t/hang": hang(started)}, guarded)
	call = w.Send(at, "work")
	<-started
	require.True(t, w.Cancel(at))
	call.Failed(sessions.CodeCancelled)
	results = lastResults(w.History(at))
	require.Contains(t, results[0].Error.Message, "not run")
	require.Contains(t, results[1].Error.Message, "interrupted")
}
