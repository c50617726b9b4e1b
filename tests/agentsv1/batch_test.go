package agentsv1

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"

	"agenthost/oracle/scripted"
)

// A request's events happen together or not at all.
func TestEventsOfARequestAreOneWrite(t *testing.T) {
	call := scripted.Call{Path: "/functions/look", Args: `{}`}
	w := newWorld(t, scripted.Play(scripted.Script{Rules: []scripted.Rule{{Steps: []scripted.Step{
		{Calls: []scripted.Call{call, call}}, {Text: "seen"}}}}}))
	p := body("hi")
	p.Agent.Tools = []openai.AgentToolParamUnion{{OfParamFunction: &openai.AgentToolParamFunction{
		Name: "look", Description: "Looks.", Parameters: map[string]any{"type": "object"}}}}
	made, err := w.sessions().New(w.ctx(), p)
	require.NoError(t, err)
	waiting := w.until(made.ID, "requires_action")
	require.Len(t, waiting.RequiredActions, 2)
	one, two := waiting.RequiredActions[0].AsFunctionCall(), waiting.RequiredActions[1].AsFunctionCall()
	result := func(call string) string {
		return fmt.Sprintf(`{"type":"agent.session.input.tool_result","call_id":%q,"turn_id":%q,"success":true,"output":"x"}`, call, one.TurnID)
	}
	const (
		says  = `{"type":"agent.session.input.message","input":[{"role":"user","content":[{"type":"input_text","text":"x"}]}]}`
		stops = `{"type":"agent.session.input.cancel"}`
	)
	before := w.digest()
	for name, events := range map[string]string{
		"a result of no call":          result(one.CallID) + "," + result("nobody"),
		"a message behind a result":    result(one.CallID) + "," + says,
		"a result behind a message":    says + "," + result(one.CallID),
		"a cancel behind a result":     result(one.CallID) + "," + stops,
		"a result behind a cancel":     stops + "," + result(one.CallID),
		"a cancel behind a message":    says + "," + stops,
		"a result that is given twice": result(one.CallID) + "," + fmt.Sprintf(`{"type":"agent.session.input.tool_result","call_id":%q,"turn_id":%q,"success":false}`, one.CallID, one.TurnID),
	} {
		t.Run(name, func(t *testing.T) {
			response := w.plain("POST", "/v1/agents/sessions/"+made.ID+"/events", `{"events":[`+events+`]}`, nil)
			text := textOf(w, response)
			require.Contains(t, []int{http.StatusBadRequest, http.StatusConflict}, response.StatusCode, text)
			require.Equal(t, "false", response.Header.Get("X-Should-Retry"))
			require.Equal(t, before, w.digest(), "nothing was written")
		})
	}
	response := w.plain("POST", "/v1/agents/sessions/"+made.ID+"/events", `{"events":[`+result(one.CallID)+`,`+result(two.CallID)+`]}`, nil)
	require.Equal(t, http.StatusAccepted, response.StatusCode, textOf(w, response))
	w.until(made.ID, "idle")
}
