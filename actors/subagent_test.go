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

// delegating lets a profile call every sub-agent.
func delegating(p *actors.Profile) { p.Tools = []string{"/agents"} }

// agentCall is a wish to ask a sub-agent of the default profile.
func agentCall(args string) scripted.Call { return scripted.Call{Path: "/agents/default", Args: args} }

// asks is a step that asks as many sub-agents as there are arguments.
func asks(args ...string) scripted.Step {
	var s scripted.Step
	for _, a := range args {
		s.Calls = append(s.Calls, agentCall(a))
	}
	return s
}

// acts plays steps for turns whose text contains a word.
func acts(when string, steps ...scripted.Step) scripted.Rule {
	return scripted.Rule{When: when, Steps: steps}
}

// family is a strict oracle that plays rules, the first that matches, and answers
// "fine" to everything else.
func family(rules ...scripted.Rule) *scripted.StrictOracle {
	return scripted.Strict(scripted.Play(scripted.Script{Rules: append(rules, acts("", scripted.Step{Text: "fine", Repeat: true}))}))
}

// refsOf returns the refs of a session.
func refsOf(t *testing.T, w *actortest.World, at sessions.Address) []sessions.Ref {
	t.Helper()
	refs, err := w.Store.Refs(t.Context(), w.Session(at).Fence.Incarnation)
	require.NoError(t, err)
	return refs
}

// childFrames returns what a session's frames say of sub-sessions.
func childFrames(w *actortest.World, at sessions.Address) (list []sessions.ChildChanged) {
	for _, f := range w.Frames(at) {
		if c, ok := f.Body.(sessions.ChildChanged); ok {
			list = append(list, c)
		}
	}
	return list
}

func TestASubAgentAnswers(t *testing.T) {
	o := family(acts("work", asks(`{"prompt":"look it up"}`), text("it is 42")), acts("look it up", text("42")))
	w := world(t, o, nil, delegating)
	at := actortest.Key("a")
	require.Equal(t, "it is 42", w.Say(at, "work"))

	result := lastResults(w.History(at))[0]
	require.Nil(t, result.Error)
	require.JSONEq(t, `"42"`, string(result.Content[0].Value))
	refs := refsOf(t, w, at)
	require.Len(t, refs, 1)
	child := w.Session(actortest.ID(refs[0].SessionID))
	require.Equal(t, w.Session(at).ID, child.ParentID)
	require.Equal(t, sessions.Local, child.ParentLocation)
	require.Equal(t, sessions.RefIdle, refs[0].Status)
	require.Equal(t, result.ToolCallID, refs[0].CallID)
	require.Equal(t, []sessions.ChildChanged{
		{SessionID: child.ID, Location: sessions.Local, Status: sessions.RefRunning},
		{SessionID: child.ID, Location: sessions.Local, Status: sessions.RefIdle},
	}, childFrames(w, at))
	require.Equal(t, "look it up", sessions.TextOf(w.History(actortest.ID(child.ID))[0].Content))
	require.Len(t, o.Requests(), 3)
}

func TestFiftySubAgentsAtOnce(t *testing.T) {
	const n = 50
	var args []string
	for i := range n {
		args = append(args, fmt.Sprintf(`{"prompt":"part %d"}`, i))
	}
	w := world(t, family(acts("work", asks(args...), text("all done"))), nil, delegating)
	at := actortest.Key("a")
	require.Equal(t, "all done", w.Say(at, "work"))
	for _, m := range lastResults(w.History(at)) {
		require.Nil(t, m.Error)
		require.JSONEq(t, `"fine"`, string(m.Content[0].Value))
	}
	refs := refsOf(t, w, at)
	require.Len(t, refs, n)
	for _, r := range refs {
		require.Len(t, w.Turns(actortest.ID(r.SessionID)), 1)
	}
	require.Len(t, childFrames(w, at), 2*n)
}

func TestAChildThatFailsFailsTheCall(t *testing.T) {
	o := family(acts("work", asks(`{"prompt":"break"}`), text("pity")), acts("break", scripted.Step{Fail: "secret text"}))
	w := world(t, o, nil, delegating)
	at := actortest.Key("a")
	require.Equal(t, "pity", w.Say(at, "work"))
	failed := lastResults(w.History(at))[0].Error
	require.Equal(t, sessions.CodeToolInvokeFailed, failed.Code)
	require.Contains(t, failed.Message, string(sessions.CodeLLMAPIFailure))
	require.NotContains(t, fmt.Sprint(failed), "secret")
	require.Equal(t, sessions.RefFailed, childFrames(w, at)[1].Status)
}
