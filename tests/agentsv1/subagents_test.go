package agentsv1

import (
	"net/http"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
	"agenthost/tools/subagent"
)

// newLineage is a host whose agent asks a helper, who asks a leaf, who answers when
// it is let go.
func newLineage(t *testing.T) (w *world, letGo chan struct{}) {
	t.Helper()
	letGo = make(chan struct{})
	script := scripted.Play(scripted.Script{Rules: []scripted.Rule{
		{When: "top", Steps: []scripted.Step{{Calls: []scripted.Call{calling("/agents/helper", `{"prompt":"middle"}`)}}, {Text: "from top"}}},
		{When: "middle", Steps: []scripted.Step{{Text: "wait", Calls: []scripted.Call{calling("/agents/leaf", `{"prompt":"bottom"}`)}}, {Text: "from middle"}}},
		{When: "bottom", Steps: []scripted.Step{{Gate: letGo, Text: "from bottom"}}},
	}})
	tree := &tools.Tree{}
	require.NoError(t, subagent.Mount(tree, "helper", "leaf"))
	return newFitted(t, script, fitting{tools: tree, fit: func(profiles map[string]host.Profile) {
		p := profiles[sessions.DefaultProfile]
		profiles["leaf"] = p
		p.Tools = []string{"/agents"}
		profiles["helper"], profiles[sessions.DefaultProfile] = p, p
	}}), letGo
}

// onlySubagent waits until a session has one, and returns it as the list and as the
// operation of its own have it.
func (w *world) onlySubagent(id string) openai.Subagent {
	w.t.Helper()
	var kids []openai.Subagent
	require.Eventually(w.t, func() bool {
		page, err := w.sessions().Subagents.List(w.ctx(), id, openai.BetaAgentSessionSubagentListParams{})
		require.NoError(w.t, err)
		kids = page.Data
		return len(kids) > 0
	}, patience, 5*time.Millisecond)
	require.Len(w.t, kids, 1)
	one, err := w.sessions().Subagents.Get(w.ctx(), id, kids[0].ID)
	require.NoError(w.t, err)
	require.JSONEq(w.t, kids[0].RawJSON(), one.RawJSON())
	for _, name := range []string{"id", "closed_at", "instructions", "name", "object", "opened_at", "parent_agent_id", "session_id", "status"} {
		require.True(w.t, gjson.Get(one.RawJSON(), name).Exists(), name)
	}
	require.EqualValues(w.t, "agent.session.subagent", one.Object)
	require.Equal(w.t, id, one.SessionID)
	return *one
}

// history is what a subagent's turn has given, as all operations agree on it.
func (w *world) history(id, kid string) (turn openai.Turn, texts []string) {
	w.t.Helper()
	turns, err := w.sessions().Subagents.Turns.List(w.ctx(), id, kid, openai.BetaAgentSessionSubagentTurnListParams{})
	require.NoError(w.t, err)
	require.Len(w.t, turns.Data, 1)
	turn = turns.Data[0]
	require.Equal(w.t, kid, turn.SubagentID)
	require.Equal(w.t, id, turn.SessionID)
	require.Equal(w.t, kid, turn.AgentID)
	one, err := w.sessions().Subagents.Turns.Get(w.ctx(), id, kid, turn.ID)
	require.NoError(w.t, err)
	require.Equal(w.t, turn.ID, one.ID)
	items := w.sessions().Subagents.Items.ListAutoPaging(w.ctx(), id, kid, openai.BetaAgentSessionSubagentItemListParams{Order: "asc", Limit: openai.Int(1)})
	ofTurn := w.sessions().Subagents.Turns.Items.ListAutoPaging(w.ctx(), id, kid, turn.ID, openai.BetaAgentSessionSubagentTurnItemListParams{Order: "asc"})
	for items.Next() {
		require.True(w.t, ofTurn.Next())
		require.JSONEq(w.t, items.Current().RawJSON(), ofTurn.Current().RawJSON())
		require.Equal(w.t, turn.ID, items.Current().TurnID)
		texts = append(texts, gjson.Get(items.Current().RawJSON(), "content.0.text").String()+gjson.Get(items.Current().RawJSON(), "server_label").String())
	}
	require.NoError(w.t, items.Err())
	require.False(w.t, ofTurn.Next())
	return turn, texts
}

func TestSubagentsWhileTheyRunAndAfterwards(t *testing.T) {
	w, letGo := newLineage(t)
	made, err := w.sessions().New(w.ctx(), body("top"))
	require.NoError(t, err)
	helper := w.onlySubagent(made.ID)
	leaf := w.onlySubagent(helper.ID)
	require.Equal(t, "default", helper.ParentAgentID)
	require.Equal(t, "helper", leaf.ParentAgentID)
	require.EqualValues(t, "active", helper.Status)
	require.EqualValues(t, "active", leaf.Status)
	turn, texts := w.history(made.ID, helper.ID)
	require.EqualValues(t, "in_progress", turn.Status)
	require.Equal(t, []string{"middle", "wait", "agents"}, texts)
	turn, texts = w.history(helper.ID, leaf.ID)
	require.EqualValues(t, "in_progress", turn.Status)
	require.Equal(t, []string{"bottom"}, texts)

	close(letGo)
	w.until(made.ID, "idle")
	turn, texts = w.history(made.ID, helper.ID)
	require.EqualValues(t, "completed", turn.Status)
	require.Equal(t, []string{"middle", "wait", "agents", "from middle"}, texts)
	_, texts = w.history(helper.ID, leaf.ID)
	require.Equal(t, []string{"bottom", "from bottom"}, texts)
	require.Len(t, w.items(made.ID), 3, "the parent's items are its own")

	list, err := w.sessions().List(w.ctx(), openai.BetaAgentSessionListParams{})
	require.NoError(t, err)
	require.Len(t, list.Data, 1, "subagents are not listed as sessions")
}

// A subagent is below the session that has made it, and below no other.
func TestASubagentIsBelowItsParentOnly(t *testing.T) {
	w, letGo := newLineage(t)
	close(letGo)
	made, err := w.sessions().New(w.ctx(), body("top"))
	require.NoError(t, err)
	other, err := w.sessions().New(w.ctx(), body("bottom"))
	require.NoError(t, err)
	w.until(made.ID, "idle")
	w.until(other.ID, "idle")
	helper := w.onlySubagent(made.ID)
	leaf := w.onlySubagent(helper.ID)
	turn, _ := w.history(made.ID, helper.ID)
	for _, path := range []string{other.ID + "/subagents/" + helper.ID, made.ID + "/subagents/" + leaf.ID, made.ID + "/subagents/" + made.ID,
		made.ID + "/subagents/" + other.ID, helper.ID + "/subagents/" + helper.ID, made.ID + "/subagents/nobody"} {
		for _, below := range []string{"", "/items", "/turns", "/turns/" + turn.ID, "/turns/" + turn.ID + "/items"} {
			response := w.plain("GET", "/v1/agents/sessions/"+path+below, "", nil)
			require.Equal(t, 404, response.StatusCode, path+below)
			require.Equal(t, notFound, textOf(w, response), path+below)
		}
	}
	for _, turn := range []string{"nobody", w.items(made.ID)[0].TurnID} {
		response := w.plain("GET", "/v1/agents/sessions/"+made.ID+"/subagents/"+helper.ID+"/turns/"+turn, "", nil)
		require.Equal(t, notFound, textOf(w, response))
	}
}

func TestASubagentThatWasDeleted(t *testing.T) {
	w, letGo := newLineage(t)
	close(letGo)
	made, err := w.sessions().New(w.ctx(), body("top"))
	require.NoError(t, err)
	w.until(made.ID, "idle")
	helper := w.onlySubagent(made.ID)
	_, err = w.sessions().Delete(w.ctx(), helper.ID)
	require.NoError(t, err)
	requireGone := func() {
		t.Helper()
		require.Empty(t, w.listed("/"+made.ID+"/subagents"))
		for _, below := range []string{"", "/items", "/turns"} {
			response := w.plain("GET", "/v1/agents/sessions/"+made.ID+"/subagents/"+helper.ID+below, "", nil)
			require.Equal(t, 404, response.StatusCode)
			require.Equal(t, notFound, textOf(w, response))
		}
	}
	requireGone()
	_, err = w.host.SessionCreate(t.Context(), &api.SessionCreateArgs{Address: api.Address{SessionID: sessions.SessionID(helper.ID)}})
	require.NoError(t, err)
	requireGone() // another session has its id now
	require.Len(t, w.items(made.ID), 3, "the parent keeps what it was told")
}

// The stream of a session tells of its subagents, and of nothing that they say.
func TestTheStreamOfAParent(t *testing.T) {
	w, letGo := newLineage(t)
	close(letGo)
	told := w.streamed("top")
	id := gjson.Get(told[0].data, "session.id").String()
	turn := w.items(id)[0].TurnID
	helper := w.onlySubagent(id)
	kinds := map[string]int{}
	for _, e := range told {
		if of := gjson.Get(e.data, "turn_id"); of.Exists() {
			require.Equal(t, turn, of.String())
		}
		if kid := gjson.Get(e.data, "subagent"); kid.Exists() {
			require.Equal(t, helper.ID, kid.Get("id").String())
			require.Equal(t, id, kid.Get("session_id").String())
			kinds[e.name]++
		}
	}
	require.Equal(t, 1, kinds["agent.session.subagent.created"])
	require.Zero(t, kinds["agent.session.subagent.closed"])
	w.requireToldAsListed(id, told)
	again := w.events(w.plain("GET", "/v1/agents/sessions/"+id+"/events", "", http.Header{"Last-Event-Id": {told[1].id}}))
	require.Equal(t, shapes(told[2:]), shapes(again))
}
