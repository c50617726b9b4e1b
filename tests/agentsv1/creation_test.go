package agentsv1

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// What is refused of an agent or of an input makes no session, whether the input comes
// with it or would come later.
func TestWhatIsRefusedMakesNoSession(t *testing.T) {
	w := newFitted(t, everyState(), fitting{limits: sessions.Limits{MessageBytes: 1000}})
	before := w.digest()
	tool := func(name, parameters string) string {
		return `{"type":"function","name":"` + name + `","description":"d","parameters":` + parameters + `}`
	}
	for name, c := range map[string]struct{ agent, param string }{
		"a schema that is none":       {`"tools":[` + tool("ok", `{"type":"object"}`) + `,` + tool("bad", `{"type":7}`) + `]`, "agent.tools"},
		"a schema of no object":       {`"tools":[` + tool("bad", `{"type":"array"}`) + `]`, "agent.tools"},
		"a name twice":                {`"tools":[` + tool("a", `{}`) + `,` + tool("a", `{}`) + `]`, "agent.tools[1].name"},
		"tools that are too large":    {`"tools":[` + tool("a", `{"description":"`+strings.Repeat("x", 1000)+`"}`) + `]`, "agent.tools"},
		"a text format that is none":  {`"text":{"format":{"type":"json_schema","schema":[]}}`, "agent.text.format.schema"},
		"an effort that is none":      {`"reasoning":{"effort":"enormous"}`, "agent.reasoning.effort"},
		"instructions that are large": {`"instructions":"` + strings.Repeat("x", 1001) + `"`, "agent.instructions"},
	} {
		for _, input := range []string{"", `,"input":"hello"`, `,"input":"hello","stream":true`} {
			t.Run(name+input, func(t *testing.T) {
				response := w.plain("POST", "/v1/agents/sessions", `{"environment":{"type":"none"},"agent":{"model":"default",`+c.agent+`}`+input+`}`,
					http.Header{"Idempotency-Key": {"k"}})
				text := textOf(w, response)
				require.Contains(t, []int{400, 413}, response.StatusCode, text)
				require.Contains(t, text, `"param":"`+c.param, text)
				require.Equal(t, before, w.digest(), "nothing was written")
			})
		}
	}
	large := w.plain("POST", "/v1/agents/sessions", `{"environment":{"type":"none"},"agent":{"model":"default"},"input":"`+strings.Repeat("x", 1001)+`"}`, nil)
	require.Equal(t, 413, large.StatusCode, textOf(w, large))
	require.Equal(t, before, w.digest(), "nothing was written")
	_, err := w.sessions().New(w.ctx(), asking("hello"), option.WithHeader("Idempotency-Key", "k"))
	require.NoError(t, err, "the key is free")
}

// A host that is full makes no session for an input that it cannot take.
func TestAFullHostMakesNoSession(t *testing.T) {
	w := newFitted(t, hangs(), fitting{limits: sessions.Limits{BusyTurns: 1}})
	w.made("hang", "in_progress")
	before := w.digest()
	response := w.plain("POST", "/v1/agents/sessions", `{"environment":{"type":"none"},"agent":{"model":"default"},"input":"x"}`, nil)
	require.Equal(t, 429, response.StatusCode, textOf(w, response))
	require.Equal(t, before, w.digest(), "nothing was written")
}

// The same creation from several connections at a time is one.
func TestTheSameCreationAtTheSameTime(t *testing.T) {
	w := newWorld(t, everyState())
	made := make([]*openai.AgentSession, 6)
	errs := make([]error, len(made))
	var group sync.WaitGroup
	ctx := w.ctx()
	for i := range made {
		group.Go(func() {
			made[i], errs[i] = w.sessions().New(ctx, asking("hello"), option.WithHeader("Idempotency-Key", "k"))
		})
	}
	group.Wait()
	for i, s := range made {
		require.NoError(t, errs[i])
		require.Equal(t, made[0].ID, s.ID)
	}
	turns, err := w.sessions().Turns.List(w.ctx(), made[0].ID, openai.BetaAgentSessionTurnListParams{})
	require.NoError(t, err)
	require.Len(t, turns.Data, 1)
}
