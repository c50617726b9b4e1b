package agentsv1

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/oracle"
	"agenthost/sessions"
)

const lookTool = `{"type":"function","name":"look","description":"","parameters":{}}`

// What is wrong is said with its place, whether an agent is made or changed, and
// nothing is written.
func TestAgentsThatAreRefused(t *testing.T) {
	w := newWorld(t, everyState())
	agent, err := w.agents().New(w.ctx(), helper())
	require.NoError(t, err)
	before := w.digest()
	many := make([]string, 65)
	for i := range many {
		many[i] = strings.Replace(lookTool, "look", fmt.Sprintf("look-%d", i), 1)
	}
	large := func(bytes int) string {
		return `"tools":[` + strings.Replace(lookTool, `"description":""`, `"description":"`+strings.Repeat("d", bytes)+`"`, 1) + `]`
	}
	for name, c := range map[string]struct {
		members, param string
		status         int
	}{
		"an unknown member":         {`"colour":1`, "colour", 400},
		"a member of a session":     {`"environment":{"type":"none"}`, "environment", 400},
		"an unknown member, deep":   {`"text":{"format":{"type":"text","x":1}}`, "text.format.x", 400},
		"a name twice":              {`"name":"a","name":"b"`, "name", 400},
		"a model that is none":      {`"model":"nobody"`, "model", 400},
		"an empty model":            {`"model":""`, "model", 400},
		"no model":                  {`"model":null`, "model", 400},
		"a name that is none":       {`"name":5`, "name", 400},
		"a long name":               {`"name":"` + strings.Repeat("n", 1025) + `"`, "name", 413},
		"tools that are none":       {`"tools":"look"`, "tools", 400},
		"a tool of another kind":    {`"tools":[{"type":"web_search"}]`, "tools[0].type", 400},
		"a tool's unknown member":   {`"tools":[` + strings.Replace(lookTool, "{}", `{},"x":1`, 1) + `]`, "tools[0].x", 400},
		"a tool's name":             {`"tools":[` + lookTool + `,` + strings.Replace(lookTool, "look", "lo ok", 1) + `]`, "tools[1].name", 400},
		"two tools of one name":     {`"tools":[` + lookTool + `,` + lookTool + `]`, "tools[1].name", 400},
		"a tool's parameters":       {`"tools":[` + strings.Replace(lookTool, "{}", "5", 1) + `]`, "tools[0].parameters", 400},
		"a deferred tool":           {`"tools":[` + strings.Replace(lookTool, "{}", `{},"defer_loading":true`, 1) + `]`, "tools[0]", 400},
		"too many tools":            {`"tools":[` + strings.Join(many, ",") + `]`, "tools", 413},
		"tools that are too large":  {large(1 << 20), "tools", 413},
		"tools beyond what may be":  {large(3 << 20), "tools", 400},
		"long instructions":         {`"instructions":"` + strings.Repeat("i", 1<<20+1) + `"`, "instructions", 413},
		"an effort that is none":    {`"reasoning":{"effort":"all"}`, "reasoning.effort", 400},
		"a summary":                 {`"reasoning":{"summary":"auto"}`, "reasoning.summary", 400},
		"a verbosity":               {`"text":{"verbosity":"high"}`, "text.verbosity", 400},
		"a schema that is none":     {`"text":{"format":{"type":"json_schema","schema":5}}`, "text.format.schema", 400},
		"another format":            {`"text":{"format":{"type":"grammar"}}`, "text.format.type", 400},
		"a service tier":            {`"service_tier":"flex"`, "service_tier", 400},
		"subagents":                 {`"multi_agent":{"enabled":true}`, "multi_agent", 400},
		"compaction":                {`"compaction":{"async":true}`, "compaction", 400},
		"experiments":               {`"experimental":{"time_awareness":true}`, "experimental", 400},
		"too much metadata":         {`"metadata":{` + pairs(17) + `}`, "metadata", 400},
		"a long key of metadata":    {`"metadata":{"` + strings.Repeat("k", 65) + `":""}`, "metadata", 400},
		"a long value of metadata":  {`"metadata":{"k":"` + strings.Repeat("é", 513) + `"}`, "metadata", 400},
		"metadata that is no text":  {`"metadata":{"k":5}`, "metadata.k", 400},
		"metadata without any name": {`"metadata":{"":""}`, "metadata", 400},
	} {
		t.Run(name, func(t *testing.T) {
			for path, body := range map[string]string{"": `{"model":"default",` + c.members + `}`, "/" + agent.ID: `{` + c.members + `}`} {
				if path == "" && strings.Contains(c.members, `"model"`) {
					body = `{` + c.members + `}`
				}
				response := w.plain("POST", "/v1/agents"+path, body, http.Header{"Idempotency-Key": {"k"}})
				text := textOf(w, response)
				require.Equal(t, c.status, response.StatusCode, text)
				require.Contains(t, text, `"param":"`+c.param+`"`)
				require.Contains(t, text, `"type":"invalid_request_error"`)
			}
		})
	}
	response := w.plain("POST", "/v1/agents", `{"name":"nameless"}`, nil)
	require.Equal(t, 400, response.StatusCode)
	require.Contains(t, textOf(w, response), `"param":"model"`)
	require.Equal(t, before, w.digest(), "nothing was written")
	for _, members := range []string{`"service_tier":"auto"`, `"multi_agent":{"enabled":false}`, `"text":{"verbosity":"medium"}`,
		`"compaction":null,"experimental":null,"metadata":null,"tools":null`, `"tools":[` + strings.Join(many[:64], ",") + `]`,
		`"instructions":"` + strings.Repeat("i", 1<<19) + `"`, `"name":"` + strings.Repeat("n", 1024) + `"`, `"metadata":{` + pairs(16) + `}`} {
		response := w.plain("POST", "/v1/agents", `{"model":"default",`+members+`}`, nil)
		require.Equal(t, 200, response.StatusCode, textOf(w, response))
	}
}

// pairs are so many pairs of metadata.
func pairs(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`"k%d":""`, i)
	}
	return strings.Join(all, ",")
}

// An owner has so many agents at most, and is told how many.
func TestSavedAgentsAreSoMany(t *testing.T) {
	w := newFitted(t, everyState(), fitting{limits: sessions.Limits{SavedAgents: 2}})
	var last *openai.Agent
	for range 2 {
		var err error
		last, err = w.agents().New(w.ctx(), helper())
		require.NoError(t, err)
	}
	_, err := w.agents().New(w.ctx(), helper())
	refused := requireStatus(t, err, 400)
	require.Contains(t, refused.Message, "limit of 2")
	require.Equal(t, "false", refused.Response.Header.Get("X-Should-Retry"))
	_, err = w.agents().Delete(w.ctx(), last.ID)
	require.NoError(t, err)
	_, err = w.agents().New(w.ctx(), helper())
	require.NoError(t, err)
}

// What the operator tells models is shown to admins; others see what they have said
// themselves.
func TestInstructionsOfTheOperatorAreForAdmins(t *testing.T) {
	w := newFitted(t, everyState(), withProfiles(map[string]oracle.Oracle{}))
	local, err := w.agents().Get(w.ctx(), "default")
	require.NoError(t, err)
	require.Equal(t, operators, local.Instructions, "on a host without keys everyone is an admin")

	user, admin := w.person(api.KeyCreateArgs{Owner: "ann"}), w.person(api.KeyCreateArgs{Owner: "ann", Role: sessions.KeyOfAdmin})
	saved, err := user.client.Beta.Agents.New(w.ctx(), openai.BetaAgentNewParams{Model: "default", Instructions: openai.String("Be brief.")})
	require.NoError(t, err)
	plain := user.made("hello", "idle")
	p := asking("hello")
	p.Agent.Instructions = openai.String("Be mine.")
	own, err := user.sessions().New(w.ctx(), p)
	require.NoError(t, err)
	for _, c := range []struct {
		who  *person
		says string
	}{{user, ""}, {admin, operators}} {
		got, err := c.who.client.Beta.Agents.Get(w.ctx(), "default")
		require.NoError(t, err)
		require.Equal(t, c.says, got.Instructions)
		list, err := c.who.client.Beta.Agents.List(w.ctx(), openai.BetaAgentListParams{})
		require.NoError(t, err)
		require.Equal(t, []string{"Be brief.", c.says}, []string{list.Data[0].Instructions, list.Data[1].Instructions})
		require.Equal(t, saved.ID, list.Data[0].ID)
		require.Equal(t, c.says, c.who.until(plain, "idle").Agent.Instructions)
		require.Equal(t, "Be mine.", c.who.until(own.ID, "idle").Agent.Instructions)
	}
	for _, path := range []string{"", "/default", "/sessions", "/sessions/" + plain, "/sessions/" + plain + "/items", "/sessions/" + plain + "/turns"} {
		require.NotContains(t, user.answer(asked{method: "GET", path: path}), operators, path)
	}
	events := user.sessions().NewStreaming(w.ctx(), asking("hello"))
	for events.Next() {
		require.NotContains(t, events.Current().RawJSON(), operators)
	}
	require.NoError(t, events.Err())
}

// A page of large agents, or of sessions of them, ends before it is too large; the
// walk goes on behind it.
func TestPagesOfLargeAgentsEndEarly(t *testing.T) {
	w := newWorld(t, everyState())
	const count = 12
	instructions := strings.Repeat("i", 1_000_000)
	agents, kept := map[string]bool{"default": true}, map[string]bool{}
	for range count {
		agent, err := w.agents().New(w.ctx(), openai.BetaAgentNewParams{Model: "default", Instructions: openai.String(instructions)})
		require.NoError(t, err)
		s, err := w.sessions().New(w.ctx(), of(agent.ID, ""))
		require.NoError(t, err)
		agents[agent.ID], kept[s.ID] = true, true
	}
	for _, order := range []string{"asc", "desc"} {
		page, err := w.agents().List(w.ctx(), openai.BetaAgentListParams{Limit: openai.Int(100), Order: openai.BetaAgentListParamsOrder(order)})
		require.NoError(t, err)
		require.Less(t, len(page.Data), count)
		require.True(t, page.HasMore)
		got := map[string]bool{}
		for pager := w.agents().ListAutoPaging(w.ctx(), openai.BetaAgentListParams{Limit: openai.Int(100), Order: openai.BetaAgentListParamsOrder(order)}); pager.Next(); {
			require.False(t, got[pager.Current().ID])
			got[pager.Current().ID] = true
		}
		require.Equal(t, agents, got)
		clear(got)
		for pager := w.sessions().ListAutoPaging(w.ctx(), openai.BetaAgentSessionListParams{Limit: openai.Int(100), Order: openai.BetaAgentSessionListParamsOrder(order)}); pager.Next(); {
			require.False(t, got[pager.Current().ID])
			got[pager.Current().ID] = true
		}
		require.Equal(t, kept, got)
	}
	list, err := w.sessions().List(w.ctx(), openai.BetaAgentSessionListParams{Limit: openai.Int(100)})
	require.NoError(t, err)
	require.Less(t, len(list.Data), count)
	require.True(t, list.HasMore)
}
