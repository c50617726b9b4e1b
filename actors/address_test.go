package actors_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// repeatUser answers with the last user message.
func repeatUser(_ context.Context, r oracle.Request, yield func(oracle.Part, error) bool) {
	yield(oracle.TextDelta{Text: sessions.TextOf(r.Messages[len(r.Messages)-1].Content)}, nil)
}

func TestFirstPromptsAtOnceMakeOneSession(t *testing.T) {
	gate := make(chan struct{})
	w := world(t, script(scripted.Step{Gate: gate, Text: "done"}), nil)
	at := actortest.Key("a")
	sent := make([]*actortest.Call, 10)
	for i := range sent {
		sent[i] = w.Send(at, "work")
	}
	for _, c := range sent[1:] {
		c.Failed(sessions.CodeAgentBusy)
	}
	close(gate)
	require.Equal(t, "done", sent[0].Completed())
	page, err := w.Store.Sessions(t.Context(), sessions.SessionQuery{Owner: actortest.Owner, Limit: 10})
	require.NoError(t, err)
	require.Len(t, page.Sessions, 1)
}

func TestAProfileHasSessionsOfItsOwn(t *testing.T) {
	w := actortest.New(t, actortest.Profiles{
		sessions.DefaultProfile: {Oracle: scripted.New(text("by default"))},
		"other":                 {Oracle: scripted.New(text("by other"))},
	}, actortest.Config{})
	require.Equal(t, "by default", w.Say(actortest.Key("a"), "hello"))
	require.Equal(t, "by other", w.Say(actortest.Key("a", "other"), "hello"))
	require.NotEqual(t, w.Session(actortest.Key("a")).ID, w.Session(actortest.Key("a", "other")).ID)
}

func TestOwnersAreApart(t *testing.T) {
	w := world(t, oracleFunc(repeatUser), nil)
	at := actortest.Key("a")
	w.Say(at, "mine")
	other := func(p *actors.Prompt) { p.Owner = "eve" }
	require.Equal(t, "hers", w.Say(at, "hers", other))
	w.Send(actortest.ID(w.Session(at).ID), "mine too", other).Failed(sessions.CodeSessionNotFound)
	require.Len(t, w.History(at), 2)
}

// A session has one agent, whichever of its two names is used.
func TestKeyAndIDShareOneAgent(t *testing.T) {
	gate := make(chan struct{})
	w := world(t, script(scripted.Step{Gate: gate, Text: "done"}), nil, shortTTL)
	key := actortest.Key("a")
	w.Say(key, "hello")
	id := actortest.ID(w.Session(key).ID)
	w.AwaitIdle()
	for _, names := range [][2]sessions.Address{{key, id}, {id, key}} {
		call := w.Send(names[0], "work")
		call.Accepted()
		w.Send(names[1], "second").Failed(sessions.CodeAgentBusy)
		resident, busy := w.System.Counts()
		require.EqualValues(t, 1, resident)
		require.EqualValues(t, 1, busy)
		require.True(t, w.Cancel(names[1]))
		call.Failed(sessions.CodeCancelled)
		w.AwaitIdle()
	}
	close(gate)
}

// What is sent by key and by id keeps its order although the root does not know
// yet that both name the same session.
func TestOrderHoldsOverBothNames(t *testing.T) {
	w := world(t, script(scripted.Step{Hang: true}), nil, shortTTL)
	key := actortest.Key("a")
	w.Say(key, "hello")
	id := actortest.ID(w.Session(key).ID)
	for i := range 100 {
		w.AwaitIdle()
		names := [][2]sessions.Address{{key, id}, {id, key}}[i%2]
		call := w.Send(names[0], "work")
		require.True(t, w.Cancel(names[1]), "round %d", i)
		call.Failed(sessions.CodeCancelled)
	}
}

func TestUnknownAddresses(t *testing.T) {
	w := world(t, script(text("done")), nil)
	nobody := actortest.ID("nobody")
	w.Send(nobody, "hello").Failed(sessions.CodeSessionNotFound)
	_, err := w.System.Cancel(t.Context(), actors.Cancel{Owner: actortest.Owner, At: nobody})
	require.Equal(t, sessions.CodeSessionNotFound, sessions.CodeOf(err))
	_, err = w.System.Cancel(t.Context(), actors.Cancel{Owner: actortest.Owner, At: actortest.Key("nothing yet")})
	require.Equal(t, sessions.CodeSessionNotFound, sessions.CodeOf(err))
	require.Nil(t, w.Delete(nobody).Receipt)
	require.Nil(t, w.Delete(actortest.Key("nothing yet")).Receipt)
	w.AwaitIdle()
}

func TestUnknownProfile(t *testing.T) {
	w := actortest.Open(t, profiles(script(text("done"))), actortest.Config{})
	at := actortest.Key("a")
	require.Equal(t, "done", w.Say(at, "work", actortest.As("r")))
	w.Send(actortest.Key("a", "nobody"), "work").Failed(sessions.CodeUnknownProfile)
	w.Close()

	w = actortest.New(t, actortest.Profiles{"new": {Oracle: script()}}, actortest.Config{Path: w.Path})
	w.Send(at, "again").Failed(sessions.CodeUnknownProfile)
	w.Send(actortest.ID(w.Session(at).ID), "again").Failed(sessions.CodeUnknownProfile)
	require.Equal(t, "done", w.Say(at, "work", actortest.As("r")), "a duplicate is known all the same")
	require.Len(t, w.History(at), 2)
	require.NotNil(t, w.Delete(at).Receipt)
}

func TestProfilesAreChecked(t *testing.T) {
	bad := map[string]actors.Profile{
		"no oracle": {},
		"negative":  {Oracle: script(), MaxIterations: -1},
		"budget":    {Oracle: script(), Budget: actors.Budget{SessionTokens: -1}},
		"policy":    {Oracle: script(), OnToolError: "ignore"},
		"tools":     {Oracle: script(), Tools: []string{"no path//"}},
		"repeat":    {Oracle: script(), Repeatable: []string{"no path//"}},
	}
	for name, p := range bad {
		_, err := actors.New(nil, actortest.Profiles{name: p}, actors.Config{})
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err), name)
	}
}
