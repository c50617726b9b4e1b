package agentsv1

import (
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/oracle"
	"agenthost/sessions"
)

// of is a session of a saved agent, or of a profile.
func of(agent, input string) openai.BetaAgentSessionNewParams {
	p := body(input)
	p.AgentID, p.Agent = openai.String(agent), openai.BetaAgentSessionNewParamsAgent{}
	return p
}

func TestSessionsOfASavedAgent(t *testing.T) {
	main, other := records("model-a"), records("model-b")
	w := newFitted(t, main, withProfiles(map[string]oracle.Oracle{"other": other}))
	agent, err := w.agents().New(w.ctx(), helper())
	require.NoError(t, err)
	begin := func(p openai.BetaAgentSessionNewParams) *openai.AgentSession {
		t.Helper()
		s, err := w.sessions().New(w.ctx(), p)
		require.NoError(t, err)
		return w.until(s.ID, "idle")
	}

	first := begin(of(agent.ID, "hello"))
	require.Equal(t, "Be brief.", first.Agent.Instructions)
	require.Len(t, first.Agent.Tools, 2)
	require.Equal(t, "default", first.Agent.Model)
	request, functions := main.asked()
	require.Equal(t, operators+"\n\nBe brief.", request.System)
	require.Equal(t, []string{"/functions/listen", "/functions/look"}, functions)
	require.EqualValues(t, "low", request.Params.Effort)
	require.JSONEq(t, `{"type":"object"}`, string(request.Schema))

	t.Run("what is given beside it comes before it", func(t *testing.T) {
		p := of(agent.ID, "hello")
		p.Agent = openai.BetaAgentSessionNewParamsAgent{Instructions: openai.String("Be loud."), Tools: param.NullSlice[[]openai.AgentToolParamUnion](),
			Model: openai.String("model-b"), Reasoning: param.NullStruct[openai.AgentReasoningParam]()}
		s := begin(p)
		require.Equal(t, "Be loud.", s.Agent.Instructions)
		require.Equal(t, "model-b", s.Agent.Model)
		require.Empty(t, s.Agent.Tools)
		request, functions := other.asked()
		require.Equal(t, "Be loud.", request.System)
		require.Empty(t, functions)
		require.Empty(t, request.Params.Effort)
		require.JSONEq(t, `{"type":"object"}`, string(request.Schema), "what is left out is the agent's")
		p.Agent = openai.BetaAgentSessionNewParamsAgent{Model: openai.String("nobody")}
		_, err := w.sessions().New(w.ctx(), p)
		require.Equal(t, "agent.model", requireStatus(t, err, 400).Param)
	})
	t.Run("and is not kept", func(t *testing.T) { w.requireSaved(agent) })

	_, err = w.agents().Update(w.ctx(), agent.ID, openai.BetaAgentUpdateParams{Instructions: openai.String("Be changed."), Model: openai.String("other")})
	require.NoError(t, err)
	second := begin(of(agent.ID, "hello"))
	require.Equal(t, "Be changed.", second.Agent.Instructions)
	request, _ = other.asked()
	require.Equal(t, "Be changed.", request.System)
	_, err = w.agents().Delete(w.ctx(), agent.ID)
	require.NoError(t, err)
	_, err = w.sessions().New(w.ctx(), of(agent.ID, "hello"))
	require.Equal(t, "agent_id", requireStatus(t, err, 400).Param)

	got, err := w.sessions().Get(w.ctx(), first.ID)
	require.NoError(t, err)
	require.JSONEq(t, first.RawJSON(), got.RawJSON(), "no change of the agent changes its sessions")
	require.NoError(t, w.sessions().Events.New(w.ctx(), first.ID, saying("k", "hello again")))
	w.requireTurns(first.ID, 2)
	w.until(first.ID, "idle")
	request, functions = main.asked()
	require.Equal(t, operators+"\n\nBe brief.", request.System)
	require.Len(t, functions, 2)

	require.Contains(t, w.listedOf(agent.ID, "asc", 2), first.ID, "sessions know an agent that is gone")
	_, err = w.host.SessionClearAll(w.ctx(), &api.SessionClearAllArgs{})
	require.NoError(t, err)
	require.Empty(t, w.digest()["sessions"])
}

// A saved agent without anything of its own is its profile.
func TestASavedAgentWithAModelOnly(t *testing.T) {
	main := records("model-a")
	w := newFitted(t, main, withProfiles(nil))
	agent, err := w.agents().New(w.ctx(), openai.BetaAgentNewParams{Model: "model-a"})
	require.NoError(t, err)
	require.Contains(t, agent.RawJSON(), `"name":null`)
	s, err := w.sessions().New(w.ctx(), of(agent.ID, "hello"))
	require.NoError(t, err)
	w.until(s.ID, "idle")
	request, functions := main.asked()
	require.Equal(t, operators, request.System)
	require.Empty(t, functions)
}

// An agent whose profile is configured no more can still be read, renamed and
// deleted, and moved to another model.
func TestASavedAgentWhoseProfileIsGone(t *testing.T) {
	w := newFitted(t, everyState(), withProfiles(map[string]oracle.Oracle{"other": records("model-b")}))
	agent, err := w.agents().New(w.ctx(), openai.BetaAgentNewParams{Model: "other"})
	require.NoError(t, err)
	w.stop()
	w.fit.fit = nil
	w.open(everyState())
	w.requireSaved(agent)
	_, err = w.agents().Update(w.ctx(), agent.ID, openai.BetaAgentUpdateParams{Name: openai.String("orphan")})
	require.NoError(t, err)
	_, err = w.sessions().New(w.ctx(), of(agent.ID, "hello"))
	require.Contains(t, requireStatus(t, err, 400).Message, `no profile "other"`)
	_, err = w.agents().Update(w.ctx(), agent.ID, openai.BetaAgentUpdateParams{Model: openai.String("default")})
	require.NoError(t, err)
	_, err = w.sessions().New(w.ctx(), of(agent.ID, "hello"))
	require.NoError(t, err)
}

// Requests that save agents, and those that use one, may be repeated, whatever has
// become of the agent meanwhile.
func TestRepeatsAroundSavedAgents(t *testing.T) {
	w := newWorld(t, everyState())
	key := option.WithHeader("Idempotency-Key", "k")
	agent, err := w.agents().New(w.ctx(), helper(), key)
	require.NoError(t, err)
	again, err := w.agents().New(w.ctx(), helper(), key)
	require.NoError(t, err)
	require.JSONEq(t, agent.RawJSON(), again.RawJSON())
	_, err = w.agents().New(w.ctx(), openai.BetaAgentNewParams{Model: "default"}, key)
	require.Equal(t, "idempotency_conflict", requireStatus(t, err, 409).Code)

	s, err := w.sessions().New(w.ctx(), of(agent.ID, "hello"), key)
	require.NoError(t, err, "the key of a session is another one")
	w.until(s.ID, "idle")
	repeat := func() {
		t.Helper()
		repeated, err := w.sessions().New(w.ctx(), of(agent.ID, "hello"), key)
		require.NoError(t, err)
		require.Equal(t, s.ID, repeated.ID)
		w.requireTurns(s.ID, 1)
	}
	repeat()
	_, err = w.agents().Update(w.ctx(), agent.ID, openai.BetaAgentUpdateParams{Instructions: openai.String("Be changed.")})
	require.NoError(t, err)
	repeat()
	again, err = w.agents().New(w.ctx(), helper(), key)
	require.NoError(t, err)
	require.Equal(t, "Be changed.", again.Instructions, "as it is now")
	_, err = w.agents().Delete(w.ctx(), agent.ID)
	require.NoError(t, err)
	repeat()
	_, err = w.agents().New(w.ctx(), helper(), key)
	require.Equal(t, "idempotency_conflict", requireStatus(t, err, 409).Code)
	_, err = w.sessions().New(w.ctx(), of(agent.ID, "another"), key)
	require.Equal(t, "idempotency_conflict", requireStatus(t, err, 409).Code)
	_, err = w.sessions().Delete(w.ctx(), s.ID)
	require.NoError(t, err)
	_, err = w.sessions().New(w.ctx(), of(agent.ID, "hello"), key)
	require.Equal(t, "idempotency_conflict", requireStatus(t, err, 409).Code)
}

func TestCase01TheAnswersAboutSavedAgentsAreLost(t *testing.T) {
	w := newWorld(t, everyState())
	p := &lossy{}
	client := w.through(p)
	p.lose.Store(2)
	agent, err := client.Beta.Agents.New(w.ctx(), helper(), option.WithHeader("Idempotency-Key", "k"))
	require.NoError(t, err)
	require.Len(t, w.digest()["saved_agents"], 1)
	p.lose.Store(2)
	changed, err := client.Beta.Agents.Update(w.ctx(), agent.ID, openai.BetaAgentUpdateParams{Name: openai.String("changed")})
	require.NoError(t, err)
	require.Equal(t, "changed", changed.Name)
	p.lose.Store(2)
	gone, err := client.Beta.Agents.Delete(w.ctx(), agent.ID)
	require.NoError(t, err)
	require.True(t, gone.Deleted)
	require.Empty(t, w.digest()["saved_agents"])
}

// Another's agent is answered as nobody's, byte for byte, by all that names one.
func TestCase52ForeignSavedAgentsAreAnsweredAsUnknownOnes(t *testing.T) {
	w := newWorld(t, everyState())
	ann, bob := w.person(api.KeyCreateArgs{Owner: "ann"}), w.person(api.KeyCreateArgs{Owner: "bob", Role: sessions.KeyOfAdmin})
	agent, err := ann.client.Beta.Agents.New(w.ctx(), helper())
	require.NoError(t, err)
	deleted, err := ann.client.Beta.Agents.New(w.ctx(), helper(), option.WithHeader("Idempotency-Key", "k"))
	require.NoError(t, err)
	_, err = ann.client.Beta.Agents.Delete(w.ctx(), deleted.ID)
	require.NoError(t, err)
	before := w.digest()
	for _, a := range []asked{
		{method: "GET", path: "/<agent>"},
		{method: "POST", path: "/<agent>", body: `{"name":"mine"}`},
		{method: "POST", path: "/<agent>", body: `{"colour":1}`},
		{method: "DELETE", path: "/<agent>"},
		{method: "POST", path: "/sessions", body: `{"environment":{"type":"none"},"agent_id":"<agent>","input":"hello"}`},
		{method: "POST", path: "/sessions", body: `{"environment":{"type":"none"},"agent_id":"<agent>","agent":{"model":"nobody"}}`},
	} {
		want := bob.answer(a.with(map[string]string{"<agent>": "agent_00000000000000000000000000000000"}))
		require.Regexp(t, "^40[04] ", want)
		for _, id := range []string{agent.ID, deleted.ID} {
			require.Equal(t, want, bob.answer(a.with(map[string]string{"<agent>": id})), "%s %s", a.method, a.path)
		}
	}
	page, err := bob.client.Beta.Agents.List(w.ctx(), openai.BetaAgentListParams{})
	require.NoError(t, err)
	require.Len(t, page.Data, 1, "the profile")
	require.Equal(t, before, w.digest())
	again, err := bob.client.Beta.Agents.New(w.ctx(), helper(), option.WithHeader("Idempotency-Key", "k"))
	require.NoError(t, err)
	require.NotEqual(t, deleted.ID, again.ID, "keys are their owners'")
}
