package actors_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// helper is the arguments of a call that means the companion "helper".
func helper(action, prompt string) string {
	args := map[string]string{"name": "helper", "action": action}
	if prompt != "" {
		args["prompt"] = prompt
	}
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// bid is a rule for the turn with a text: it makes one call, and then says "done".
func bid(when, args string) scripted.Rule { return acts(when, asks(args), text("done")) }

// lastOutput is the output of a session's last call, which must have one.
func lastOutput(t *testing.T, w *actortest.World, at sessions.Address) string {
	t.Helper()
	result := lastResults(w.History(at))[0]
	require.Nil(t, result.Error, "%+v", result.Error)
	return string(result.Content[0].Value)
}

// lastFault is the error of a session's last call.
func lastFault(t *testing.T, w *actortest.World, at sessions.Address) *sessions.ErrorInfo {
	t.Helper()
	result := lastResults(w.History(at))[0]
	require.NotNil(t, result.Error)
	return result.Error
}

func TestACompanionIsKept(t *testing.T) {
	w := world(t, family(bid("first", helper("ask", "remember 1")), bid("then", helper("message", "remember 2"))), nil, delegating)
	at := actortest.Key("a")
	w.Say(at, "first")
	w.Say(at, "then")
	refs := refsOf(t, w, at)
	require.Len(t, refs, 1)
	require.Equal(t, "helper", refs[0].Name)
	history := w.History(actortest.ID(refs[0].SessionID))
	require.Len(t, history, 4)
	require.Equal(t, "remember 2", sessions.TextOf(history[2].Content))
}

func TestASpawnedCompanionWorksBesideItsParent(t *testing.T) {
	gate := make(chan struct{})
	o := family(
		bid("begin", helper("spawn", "long work")), bid("look", `{"action":"list"}`),
		bid("hurry", helper("message", "and this")), bid("collect", helper("wait", "")),
		acts("long work", scripted.Step{Gate: gate, Text: "42"}),
	)
	w := world(t, o, nil, delegating)
	at := actortest.Key("a")
	w.Say(at, "begin")
	child := refsOf(t, w, at)[0].SessionID
	require.JSONEq(t, fmt.Sprintf(`{"name":"helper","sessionId":%q,"status":"running"}`, child), lastOutput(t, w, at))
	w.Say(at, "look")
	require.JSONEq(t, fmt.Sprintf(`[{"name":"helper","sessionId":%q,"status":"running"}]`, child), lastOutput(t, w, at))
	w.Say(at, "hurry")
	require.EqualValues(t, sessions.CodeAgentBusy, lastFault(t, w, at).Details["childCode"])
	collect := w.Send(at, "collect")
	collect.Accepted()
	close(gate)
	require.Equal(t, "done", collect.Completed())
	require.JSONEq(t, `"42"`, lastOutput(t, w, at))
	w.Say(at, "collect")
	require.JSONEq(t, `"42"`, lastOutput(t, w, at))
	w.Say(at, "look")
	require.Contains(t, lastOutput(t, w, at), `"idle"`)
}

func TestACompanionThatHasEndedIsMadeAnew(t *testing.T) {
	o := family(
		bid("begin", helper("ask", "work on it")), bid("end", helper("terminate", "")),
		bid("tell", helper("message", "more")), bid("again", helper("spawn", "")),
		acts("work on it", asks(`{"prompt":"a part"}`), text("done")),
	)
	w := world(t, o, nil, delegating)
	at := actortest.Key("a")
	w.Say(at, "begin")
	old := refsOf(t, w, at)[0].SessionID
	below := refsOf(t, w, actortest.ID(old))[0].SessionID
	for range 2 {
		w.Say(at, "end")
		require.Contains(t, lastOutput(t, w, at), `"closed"`)
	}
	require.Equal(t, sessions.StatusClosed, w.Session(actortest.ID(old)).Status)
	w.Say(at, "tell")
	require.Contains(t, lastFault(t, w, at).Message, "spawn it again")

	w.Say(at, "again")
	refs := refsOf(t, w, at)
	require.Len(t, refs, 1)
	require.NotEqual(t, old, refs[0].SessionID)
	for _, id := range []sessions.SessionID{old, below} {
		_, err := w.Store.Session(t.Context(), actortest.Owner, actortest.ID(id))
		require.Equal(t, sessions.CodeSessionNotFound, sessions.CodeOf(err))
	}
}

func TestACompanionWhoseDeletionFailsStaysAsItIs(t *testing.T) {
	g := &gatedStore{}
	o := family(bid("begin", helper("ask", "break")), bid("again", helper("ask", "anew")), acts("break", scripted.Step{Fail: "for a test"}))
	w := actortest.New(t, profiles(o, delegating), actortest.Config{Wrap: g.wrap})
	at := actortest.Key("a")
	w.Say(at, "begin")
	old := refsOf(t, w, at)
	require.Equal(t, sessions.RefFailed, old[0].Status)
	g.set(func(g *gatedStore) { g.onDelete = func(*sessions.DeleteSession) error { return away } })
	w.Say(at, "again")
	require.Equal(t, sessions.CodeStoreUnavailable, lastFault(t, w, at).Code)
	require.Equal(t, old, refsOf(t, w, at))
	g.set(func(g *gatedStore) { g.onDelete = nil })
	w.Say(at, "again")
	require.JSONEq(t, `"fine"`, lastOutput(t, w, at))
	require.NotEqual(t, old[0].SessionID, refsOf(t, w, at)[0].SessionID)
}

func TestCompanionsThatAreNotThere(t *testing.T) {
	for _, action := range []string{"message", "wait", "terminate"} {
		prompt := ""
		if action == "message" {
			prompt = "hello"
		}
		w := world(t, family(bid("work", helper(action, prompt))), nil, delegating)
		at := actortest.Key("a")
		w.Say(at, "work")
		require.Contains(t, lastFault(t, w, at).Message, "no companion", action)
		require.Empty(t, refsOf(t, w, at))
	}
	w := world(t, family(bid("make", helper("spawn", "")), bid("wait", helper("wait", ""))), nil, delegating)
	at := actortest.Key("a")
	w.Say(at, "make")
	w.Say(at, "wait")
	require.Contains(t, lastFault(t, w, at).Message, "not asked for anything")
}
