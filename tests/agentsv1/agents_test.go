package agentsv1

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/oracle"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// recorder is an oracle that keeps what it was asked last.
type recorder struct {
	*scripted.Oracle
	name string
	mu   sync.Mutex
	last oracle.Request
}

func records(name string) *recorder { return &recorder{Oracle: everyState(), name: name} }

func (r *recorder) Name() string { return r.name }

func (r *recorder) Infer(ctx context.Context, asked oracle.Request) iter.Seq2[oracle.Part, error] {
	r.mu.Lock()
	r.last = asked
	r.mu.Unlock()
	return r.Oracle.Infer(ctx, asked)
}

// asked returns the last request, with the paths of the tools that clients run.
func (r *recorder) asked() (request oracle.Request, functions []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, tool := range r.last.Tools {
		if strings.HasPrefix(tool.Path, "/functions/") {
			functions = append(functions, tool.Path)
		}
	}
	return r.last, functions
}

// withProfiles has further profiles, each answered by an oracle of its own name, and
// tells the models of the default one a secret.
func withProfiles(oracles map[string]oracle.Oracle) fitting {
	return fitting{fit: func(profiles map[string]host.Profile) {
		for name, o := range oracles {
			profiles[name] = host.Profile{Oracle: o}
		}
		p := profiles[sessions.DefaultProfile]
		p.System = operators
		profiles[sessions.DefaultProfile] = p
	}}
}

const operators = "What the operator says."

// agents is the SDK's way to agents.
func (w *world) agents() *openai.BetaAgentService { return &w.client.Beta.Agents }

func functionTool(name string) openai.PersistedAgentToolParamUnion {
	return openai.PersistedAgentToolParamUnion{OfParamFunction: &openai.PersistedAgentToolParamFunction{
		Name: name, Description: "Does " + name + ".", Parameters: map[string]any{"type": "object"}}}
}

// helper is an agent with everything that one can have.
func helper() openai.BetaAgentNewParams {
	return openai.BetaAgentNewParams{
		Model: "default", Name: openai.String("Helper ☂"), Instructions: openai.String("Be brief."),
		Tools: []openai.PersistedAgentToolParamUnion{functionTool("look"), functionTool("listen")}, Metadata: map[string]string{"team": "blue"},
		Reasoning: openai.AgentReasoningParam{Effort: "low"},
		Text:      openai.AgentTextParam{Format: openai.TextFormatParamUnion{OfParamJSONSchema: &openai.TextFormatParamJSONSchema{Schema: map[string]any{"type": "object"}}}},
	}
}

func namesOf(tools []openai.PersistedAgentToolUnion) []string {
	names := []string{}
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return names
}

func TestSavedAgents(t *testing.T) {
	w := newFitted(t, records("model-a"), withProfiles(map[string]oracle.Oracle{"other": records("model-b")}))
	made, err := w.agents().New(w.ctx(), helper())
	require.NoError(t, err)
	require.Regexp(t, "^agent_[0-9a-f]{32}$", made.ID)
	require.EqualValues(t, "agent", made.Object)
	require.Equal(t, "Helper ☂", made.Name)
	require.Equal(t, "default", made.Model)
	require.Equal(t, "Be brief.", made.Instructions)
	require.Equal(t, []string{"look", "listen"}, namesOf(made.Tools))
	require.Equal(t, map[string]any{"type": "object"}, made.Tools[0].Parameters)
	require.EqualValues(t, "low", made.Reasoning.Effort)
	require.Equal(t, "json_schema", made.Text.Format.Type)
	require.Equal(t, map[string]string{"team": "blue"}, made.Metadata)
	require.Positive(t, made.CreatedAt)
	require.Equal(t, made.CreatedAt, made.UpdatedAt)
	w.requireSaved(made)

	w.stop()
	w.open(records("model-a"))
	w.requireSaved(made)

	update := func(p openai.BetaAgentUpdateParams) *openai.Agent {
		t.Helper()
		changed, err := w.agents().Update(w.ctx(), made.ID, p)
		require.NoError(t, err)
		w.requireSaved(changed)
		require.Equal(t, made.CreatedAt, changed.CreatedAt)
		require.GreaterOrEqual(t, changed.UpdatedAt, made.UpdatedAt)
		return changed
	}
	changed := update(openai.BetaAgentUpdateParams{Instructions: openai.String("Be long.")})
	require.Equal(t, "Be long.", changed.Instructions)
	require.Equal(t, "Helper ☂", changed.Name, "what is left out stays")
	require.Equal(t, []string{"look", "listen"}, namesOf(changed.Tools))
	require.EqualValues(t, "low", changed.Reasoning.Effort)
	require.Equal(t, "json_schema", changed.Text.Format.Type)
	require.Equal(t, map[string]string{"team": "blue"}, changed.Metadata)
	changed = update(openai.BetaAgentUpdateParams{Tools: []openai.PersistedAgentToolParamUnion{functionTool("smell")},
		Metadata: map[string]string{"size": "l"}, Model: openai.String("model-a")})
	require.Equal(t, []string{"smell"}, namesOf(changed.Tools))
	require.Equal(t, map[string]string{"size": "l"}, changed.Metadata)
	require.Equal(t, "model-a", changed.Model, "as it was asked for")
	changed = update(openai.BetaAgentUpdateParams{Name: param.Null[string](), Instructions: param.Null[string](),
		Tools: param.NullSlice[[]openai.PersistedAgentToolParamUnion](), Metadata: param.NullMap[map[string]string](),
		Reasoning: param.NullStruct[openai.AgentReasoningParam](), Text: param.NullStruct[openai.AgentTextParam]()})
	require.Contains(t, changed.RawJSON(), `"name":null`)
	require.Contains(t, changed.RawJSON(), `"instructions":""`, "not the operator's, so that it can be written back")
	require.Empty(t, changed.Tools)
	require.Empty(t, changed.Metadata)
	require.Contains(t, changed.RawJSON(), `"effort":null`)
	require.Equal(t, "text", changed.Text.Format.Type)

	for range 2 {
		gone, err := w.agents().Delete(w.ctx(), made.ID)
		require.NoError(t, err)
		require.JSONEq(t, `{"id":"`+made.ID+`","object":"agent.deleted","deleted":true}`, gone.RawJSON())
	}
	response := w.plain("GET", "/v1/agents/"+made.ID, "", nil)
	require.Equal(t, 404, response.StatusCode)
	require.Equal(t, notFound, textOf(w, response))
	_, err = w.agents().Update(w.ctx(), made.ID, openai.BetaAgentUpdateParams{Name: openai.String("late")})
	requireStatus(t, err, 404)
	for table, rows := range w.digest() {
		for _, row := range rows {
			require.NotContains(t, row, made.ID, table)
			require.NotContains(t, row, "Helper", table)
		}
	}
}

// requireSaved requires that the host has an agent as it was answered.
func (w *world) requireSaved(want *openai.Agent) {
	w.t.Helper()
	got, err := w.agents().Get(w.ctx(), want.ID)
	require.NoError(w.t, err)
	require.JSONEq(w.t, want.RawJSON(), got.RawJSON())
}

func requireStatus(t *testing.T, err error, status int) *openai.Error {
	t.Helper()
	var refused *openai.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, status, refused.StatusCode, refused.Message)
	return refused
}

// The list is one: of what was saved, and behind it the profiles.
func TestAgentsAreListedTogether(t *testing.T) {
	w := newFitted(t, everyState(), withProfiles(map[string]oracle.Oracle{"zed": records("z"), "alpha": records("a")}))
	want := []string{"zed", "default", "alpha"} // newest first
	for range 4 {
		made, err := w.agents().New(w.ctx(), openai.BetaAgentNewParams{Model: "default"})
		require.NoError(t, err)
		want = slices.Insert(want, 0, made.ID)
	}
	for _, order := range []openai.BetaAgentListParamsOrder{"desc", "asc"} {
		for limit := int64(1); limit <= 8; limit++ {
			var got []string
			pager := w.agents().ListAutoPaging(w.ctx(), openai.BetaAgentListParams{Limit: openai.Int(limit), Order: order})
			for pager.Next() {
				got = append(got, pager.Current().ID)
			}
			require.NoError(t, pager.Err())
			require.Equal(t, want, got, "%s, %d at a time", order, limit)
		}
		for i, id := range want {
			page, err := w.agents().List(w.ctx(), openai.BetaAgentListParams{After: openai.String(id), Order: order})
			require.NoError(t, err)
			require.Len(t, page.Data, len(want)-i-1)
			require.False(t, page.HasMore)
		}
		slices.Reverse(want)
	}
	_, err := w.agents().Delete(w.ctx(), want[1])
	require.NoError(t, err)
	page, err := w.agents().List(w.ctx(), openai.BetaAgentListParams{After: openai.String(want[1]), Limit: openai.Int(1)})
	require.NoError(t, err)
	require.Equal(t, want[2], page.Data[0].ID, "behind one that is gone")
	_, err = w.agents().List(w.ctx(), openai.BetaAgentListParams{After: openai.String("nobody")})
	require.Equal(t, "after", requireStatus(t, err, 400).Param)
	require.Len(t, w.digest()["saved_agents"], 3)
}

// A profile is an agent that the API does not change.
func TestProfilesStayAsTheyAre(t *testing.T) {
	w := newWorld(t, everyState())
	_, err := w.agents().Update(w.ctx(), "default", openai.BetaAgentUpdateParams{Name: openai.String("mine")})
	refused := requireStatus(t, err, 400)
	require.Contains(t, refused.Message, "configuration")
	require.Equal(t, "false", refused.Response.Header.Get("X-Should-Retry"))
	_, err = w.agents().Delete(w.ctx(), "default")
	require.Equal(t, refused.RawJSON(), requireStatus(t, err, 400).RawJSON())
	got, err := w.agents().Get(w.ctx(), "default")
	require.NoError(t, err)
	require.Equal(t, "default", got.Name)
	for _, method := range []string{http.MethodDelete, http.MethodPost} {
		response := w.plain(method, "/v1/agents/nobody", `{"name":"mine"}`, nil)
		require.Equal(t, 404, response.StatusCode)
		require.Equal(t, notFound, textOf(w, response))
	}
}
