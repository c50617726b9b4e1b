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
