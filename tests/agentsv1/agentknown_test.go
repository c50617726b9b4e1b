package agentsv1

import (
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"agenthost/host/api"
	"agenthost/sessions"
)

// listedOf are the ids of an agent's sessions, one page behind the other.
func (w *world) listedOf(agent, order string, limit int64) []string {
	w.t.Helper()
	ids := []string{}
	pager := w.sessions().ListAutoPaging(w.ctx(), openai.BetaAgentSessionListParams{AgentID: openai.String(agent),
		Order: openai.BetaAgentSessionListParamsOrder(order), Limit: openai.Int(limit)})
	for pager.Next() {
		require.Equal(w.t, agent, pager.Current().Agent.ID, "what is listed is shown")
		ids = append(ids, pager.Current().ID)
	}
	require.NoError(w.t, pager.Err())
	return ids
}

// requireListedOf requires that an agent has these sessions, oldest first.
func (w *world) requireListedOf(agent string, want ...string) {
	w.t.Helper()
	back := append([]string{}, want...)
	slices.Reverse(back)
	for _, limit := range []int64{1, 2, 100} {
		require.Equal(w.t, append([]string{}, want...), w.listedOf(agent, "asc", limit))
		require.Equal(w.t, back, w.listedOf(agent, "desc", limit))
	}
}

// requireMember requires that a member is the same wherever a list of values has it,
// and that some have it.
func requireMember(t *testing.T, all []seen, path, want string) {
	t.Helper()
	found := 0
	for _, e := range all {
		if got := gjson.Get(e.data, path); got.Exists() {
			found++
			require.Equal(t, want, got.String(), "%s of %s", path, e.name)
		}
	}
	require.NotZero(t, found, path)
}

func TestASessionKnowsTheSavedAgentItWasMadeFrom(t *testing.T) {
	w := newWorld(t, everyState())
	save := func(p openai.BetaAgentNewParams) string {
		t.Helper()
		agent, err := w.agents().New(w.ctx(), p)
		require.NoError(t, err)
		return agent.ID
	}
	one, two := save(helper()), save(openai.BetaAgentNewParams{Model: "default"})
	plain := w.made("hello", "idle")
	begin := func(agent, input string) *openai.AgentSession {
		t.Helper()
		s, err := w.sessions().New(w.ctx(), of(agent, input))
		require.NoError(t, err)
		require.Equal(t, agent, s.Agent.ID)
		return w.until(s.ID, "idle")
	}
	first, unnamed, later := begin(one, "hello"), begin(two, "hello"), begin(one, "")
	require.Equal(t, "Helper ☂", first.Agent.Name)
	require.Equal(t, "Helper ☂", later.Agent.Name)
	require.Contains(t, unnamed.RawJSON(), `"name":null`)
	turns, err := w.sessions().Turns.List(w.ctx(), first.ID, openai.BetaAgentSessionTurnListParams{})
	require.NoError(t, err)
	require.Equal(t, one, turns.Data[0].AgentID)
	turn, err := w.sessions().Turns.Get(w.ctx(), first.ID, turns.Data[0].ID)
	require.NoError(t, err)
	require.Equal(t, one, turn.AgentID)

	told := w.events(w.plain("POST", "/v1/agents/sessions", `{"environment":{"type":"none"},"agent_id":"`+one+`","input":"hello","stream":true}`, nil))
	streamed := gjson.Get(told[0].data, "session.id").String()
	requireMember(t, told, "session.agent.id", one)
	requireMember(t, told, "session.agent.name", "Helper ☂")
	requireMember(t, told, "turn.agent_id", one)

	require.Equal(t, []string{"default", "default"}, []string{w.until(plain, "idle").Agent.ID, w.until(plain, "idle").Agent.Name})
	lists := func() {
		t.Helper()
		w.requireListedOf(one, first.ID, later.ID, streamed)
		w.requireListedOf(two, unnamed.ID)
		w.requireListedOf("default", plain)
		w.requireListedOf("agent_" + strings.Repeat("0", 32))
	}
	lists()
	_, err = w.agents().Update(w.ctx(), one, openai.BetaAgentUpdateParams{Name: openai.String("Another")})
	require.NoError(t, err)
	_, err = w.agents().Delete(w.ctx(), two)
	require.NoError(t, err)
	w.stop()
	w.open(everyState())
	lists()
	for _, s := range []*openai.AgentSession{first, unnamed} {
		require.JSONEq(t, s.RawJSON(), w.until(s.ID, "idle").RawJSON(), "no change of the agent changes its sessions")
	}
	require.Equal(t, "Another", begin(one, "").Agent.Name)
	_, err = w.sessions().Delete(w.ctx(), later.ID)
	require.NoError(t, err)
	require.Len(t, w.listedOf(one, "asc", 2), 3)
}

// Below a session of a saved agent the parent is that agent; the sub-sessions are
// their profiles', and not listed.
func TestSubagentsOfASavedAgentsSession(t *testing.T) {
	w, letGo := newLineage(t)
	close(letGo)
	agent, err := w.agents().New(w.ctx(), openai.BetaAgentNewParams{Model: "default"})
	require.NoError(t, err)
	told := w.events(w.plain("POST", "/v1/agents/sessions", `{"environment":{"type":"none"},"agent_id":"`+agent.ID+`","input":"top","stream":true}`, nil))
	id := gjson.Get(told[0].data, "session.id").String()
	requireMember(t, told, "subagent.parent_agent_id", agent.ID)
	kid := w.onlySubagent(id)
	require.Equal(t, agent.ID, kid.ParentAgentID)
	require.Equal(t, "helper", w.onlySubagent(kid.ID).ParentAgentID)
	w.history(id, kid.ID)
	w.requireListedOf(agent.ID, id)
}

// A fork of all has the agent as it has its settings; one up to a message has neither.
func TestForksOfASavedAgentsSession(t *testing.T) {
	w := newWorld(t, everyState())
	agent, err := w.agents().New(w.ctx(), helper())
	require.NoError(t, err)
	s, err := w.sessions().New(w.ctx(), of(agent.ID, "hello"))
	require.NoError(t, err)
	w.until(s.ID, "idle")
	at := api.Address{SessionID: sessions.SessionID(s.ID)}
	whole, err := w.host.SessionFork(w.ctx(), &api.SessionForkArgs{Address: at})
	require.NoError(t, err)
	require.EqualValues(t, agent.ID, whole.Session.AgentID)
	part, err := w.host.SessionFork(w.ctx(), &api.SessionForkArgs{Address: at, ThroughSeq: new(int64(1))})
	require.NoError(t, err)
	for id, want := range map[sessions.SessionID][]string{
		whole.Session.ID: {agent.ID, "Helper ☂", "Be brief."},
		part.Session.ID:  {"default", "default", ""},
	} {
		got, err := w.sessions().Get(w.ctx(), string(id))
		require.NoError(t, err)
		require.Equal(t, want, []string{got.Agent.ID, got.Agent.Name, got.Agent.Instructions})
	}
	w.requireListedOf(agent.ID, s.ID, string(whole.Session.ID))
}

// Whatever agent can be saved, sessions can be made from it: its name counts among the
// settings that they copy.
func TestANameCountsAmongTheSettings(t *testing.T) {
	w := newFitted(t, everyState(), fitting{limits: sessions.Limits{StateBytes: 4096}})
	p := openai.BetaAgentNewParams{Model: "default", Name: openai.String(strings.Repeat("n", 1000)), Instructions: openai.String(strings.Repeat("i", 3000))}
	agent, err := w.agents().New(w.ctx(), p)
	require.NoError(t, err)
	s, err := w.sessions().New(w.ctx(), of(agent.ID, ""))
	require.NoError(t, err)
	require.Equal(t, p.Name.Value, s.Agent.Name)
	p.Instructions = openai.String(strings.Repeat("i", 3100))
	_, err = w.agents().New(w.ctx(), p)
	require.Contains(t, requireStatus(t, err, 413).Message, "limit of 4096")
	p.Name = openai.String("n")
	_, err = w.agents().New(w.ctx(), p)
	require.NoError(t, err)
}

// To another owner a foreign agent's sessions are as those of an agent that there is not.
func TestCase52SessionsOfAForeignAgentAreNotListed(t *testing.T) {
	w := newWorld(t, everyState())
	ann, bob := w.person(api.KeyCreateArgs{Owner: "ann"}), w.person(api.KeyCreateArgs{Owner: "bob", Role: sessions.KeyOfAdmin})
	agent, err := ann.client.Beta.Agents.New(w.ctx(), helper())
	require.NoError(t, err)
	s, err := ann.sessions().New(w.ctx(), of(agent.ID, "hello"))
	require.NoError(t, err)
	ann.until(s.ID, "idle")
	ask := func(p *person, id string) string {
		return p.answer(asked{method: "GET", path: "/sessions?agent_id=" + id})
	}
	require.Contains(t, ask(ann, agent.ID), s.ID)
	require.Contains(t, ask(bob, agent.ID), `"data":[]`)
	require.Equal(t, ask(bob, "agent_"+strings.Repeat("0", 32)), ask(bob, agent.ID))
}
