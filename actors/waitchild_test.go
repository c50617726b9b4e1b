package actors_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// A companion that ends while its parent's turn waits for clients is told of then,
// and the turn goes on waiting.
func TestACompanionEndsWhileItsParentsTurnWaits(t *testing.T) {
	gate := make(chan struct{})
	step := asks(helper("spawn", "long work"))
	step.Calls = append(step.Calls, scripted.Call{Path: "/ui/ask"})
	o := family(acts("begin", step, text("done")), acts("long work", scripted.Step{Gate: gate, Text: "42"}))
	w := world(t, o, nil, guarded, delegating)
	at := actortest.Key("a")
	call := w.Send(at, "begin")
	call.Accepted()
	pending := awaitWaiting(w, at)
	close(gate)
	told := func() (states []sessions.RefStatus) {
		for _, f := range w.Frames(at) {
			if c, ok := f.Body.(sessions.ChildChanged); ok {
				states = append(states, c.Status)
			}
		}
		return states
	}
	w.Eventually(func() bool { s := told(); return len(s) > 0 && s[len(s)-1] == sessions.RefIdle }, "that the companion's end is told")
	require.Equal(t, pending, w.Session(at).Pending)
	mustAnswer(w, at, pending[0].CallID, gives(`1`))
	require.Equal(t, "done", call.Completed())
}

// A sub-agent whose turn waits for clients need not stay in memory for its parent.
func TestASubagentThatWaitsLeavesMemory(t *testing.T) {
	o := family(acts("begin", asks(helper("ask", "long work")), text("done")), acts("long work", calls("/ui/ask"), text("42")))
	w := world(t, o, nil, guarded, delegating, shortTTL)
	at := actortest.Key("a")
	call := w.Send(at, "begin")
	call.Accepted()
	w.Eventually(func() bool { return len(refsOf(t, w, at)) == 1 }, "that the sub-agent is there")
	child := actortest.ID(refsOf(t, w, at)[0].SessionID)
	pending := awaitWaiting(w, child)
	awaitEvicted(w, child)
	require.True(t, w.Resident(at))
	mustAnswer(w, child, pending[0].CallID, gives(`1`))
	require.Equal(t, "done", call.Completed())
	w.AwaitIdle()
}
