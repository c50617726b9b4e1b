package actors_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// oneChild requires that a session has one ref, whose session has had one turn,
// and returns the ref.
func oneChild(t *testing.T, w *actortest.World, at sessions.Address) sessions.Ref {
	t.Helper()
	refs := refsOf(t, w, at)
	require.Len(t, refs, 1)
	require.Len(t, w.Turns(actortest.ID(refs[0].SessionID)), 1)
	return refs[0]
}

// A call that is run again finds the child it made, and joins the turn it asked for.
func TestARepeatedCallJoinsItsChild(t *testing.T) {
	slow := family(acts("work", asks(`{"prompt":"slow"}`), text("done")), acts("slow", scripted.Step{Hang: true}))
	w := actortest.Open(t, profiles(slow, delegating), actortest.Config{})
	at := actortest.Key("a")
	w.Send(at, "work", actortest.As("r")).Accepted()
	require.NoError(t, slow.Await(t.Context(), 2))
	w.Eventually(func() bool { return len(childFrames(w, at)) == 1 }, "that the child is shown")
	before := oneChild(t, w, at)

	fast := family(acts("work", asks(`{"prompt":"slow"}`), text("done")), acts("slow", text("at last")))
	w = cutAndReopen(t, w, profiles(fast, delegating), nil)
	require.Equal(t, "done", w.Send(at, "work", actortest.As("r")).Completed())
	require.Equal(t, before.SessionID, oneChild(t, w, at).SessionID)
	result := lastResults(w.History(at))[0]
	require.JSONEq(t, `"at last"`, string(result.Content[0].Value))
	require.Len(t, w.History(actortest.ID(before.SessionID)), 2)
}

// A child that has ended gives the repeated call what it gave, also when the claim
// of the request is forgotten.
func TestARepeatedCallGetsTheStoredAnswer(t *testing.T) {
	for name, child := range map[string]struct {
		step scripted.Step
		code sessions.Code
	}{
		"answer":  {text("once"), ""},
		"failure": {scripted.Step{Fail: "for a test"}, sessions.CodeToolInvokeFailed},
	} {
		t.Run(name, func(t *testing.T) {
			o := func() *scripted.StrictOracle {
				return family(acts("work", asks(`{"prompt":"part"}`), text("done")), acts("part", child.step))
			}
			g := &gatedStore{}
			g.onCommit = func(c sessions.CommitTurn) error {
				for _, m := range c.Messages {
					if m.Role == sessions.RoleTool {
						return away
					}
				}
				return nil
			}
			config := actors.Config{DedupTTL: time.Millisecond}
			w := actortest.Open(t, profiles(o(), delegating), actortest.Config{Config: config, Wrap: g.wrap})
			at := actortest.Key("a")
			w.Send(at, "work", actortest.As("r"))
			w.Eventually(func() bool { return g.refusals() > 0 }, "that the result waits for the store")
			before := oneChild(t, w, at)
			w.Close()

			again := o()
			w = actortest.New(t, profiles(again, delegating), actortest.Config{Path: w.Path, Config: config})
			require.NoError(t, w.Store.Sweep(t.Context(), sessions.TimeOf(time.Now().Add(time.Hour))))
			require.NoError(t, w.System.Recover(t.Context()))
			w.Eventually(func() bool { return w.Session(at).Status == sessions.StatusIdle }, "that the turn ends")
			require.Equal(t, before.SessionID, oneChild(t, w, at).SessionID)
			result := lastResults(w.History(at))[0]
			if child.code != "" {
				require.Equal(t, child.code, result.Error.Code)
			} else {
				require.JSONEq(t, `"once"`, string(result.Content[0].Value))
			}
			require.Len(t, again.Requests(), 1, "the child's model is not called again")
		})
	}
}

// A child whose turn cannot go on after the stop says so.
func TestARepeatedCallHearsThatItsChildWasCut(t *testing.T) {
	started := make(chan struct{}, 1)
	o := family(acts("work", asks(`{"prompt":"part"}`), text("pity")), acts("part", calls("/t/hang")))
	both := func(p *actors.Profile) { p.Tools = []string{"/agents", "/t"} }
	w := actortest.Open(t, profiles(o, both), actortest.Config{Config: actors.Config{Tools: treeOf(t, mounts{"/t/hang": hang(started)})}})
	at := actortest.Key("a")
	w.Send(at, "work", actortest.As("r")).Accepted()
	<-started
	w = cutAndReopen(t, w, profiles(o, both), treeOf(t, mounts{"/t/hang": hang(started)}))
	require.Equal(t, "pity", w.Send(at, "work", actortest.As("r")).Completed())
	failed := lastResults(w.History(at))[0].Error
	require.Equal(t, sessions.CodeToolInvokeFailed, failed.Code)
	require.EqualValues(t, sessions.CodeHostRestarted, failed.Details["childCode"])
}

// After a restart a parent looks after its companion as before.
func TestAParentAttendsItsCompanionAfterARestart(t *testing.T) {
	o := func() *scripted.StrictOracle {
		return family(bid("begin", helper("spawn", "long work")), acts("hang on", scripted.Step{Hang: true}), acts("long work", scripted.Step{Hang: true}))
	}
	before := o()
	w := actortest.Open(t, profiles(before, delegating, shortTTL), actortest.Config{})
	at := actortest.Key("a")
	w.Say(at, "begin")
	require.NoError(t, before.Await(t.Context(), 3))
	child := actortest.ID(refsOf(t, w, at)[0].SessionID)
	w = cutAndReopen(t, w, profiles(o(), delegating, shortTTL), nil)
	w.Eventually(func() bool { return w.Resident(at) && w.Resident(child) }, "that parent and child have their agents")

	w.Send(at, "hang on").Accepted()
	require.True(t, w.Cancel(at))
	w.Eventually(func() bool { return w.Turns(child)[0].Status == sessions.TurnIsCancelled }, "that the companion's turn is cancelled")
	w.AwaitIdle()
}
