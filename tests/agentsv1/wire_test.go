package agentsv1

import (
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"
)

const notFound = `{"error":{"message":"Resource not found.","type":"not_found_error","code":"not_found_error","param":null}}`

func TestWhatIsNotThereIsAnsweredAlike(t *testing.T) {
	w := newWorld(t, everyState())
	id := w.made("hello", "idle")
	for _, path := range []string{"/sessions/nobody", "/sessions/%00", "/sessions/..%2f", "/sessions/" + strings.Repeat("x", 4000),
		"/sessions/nobody/turns", "/sessions/nobody/items", "/sessions/nobody/events", "/sessions/nobody/subagents",
		"/sessions/" + id + "/turns/nobody", "/sessions/" + id + "/turns/nobody/items", "/sessions/" + id + "/subagents/nobody",
		"/sessions/" + id + "/subagents/nobody/turns", "/nobody"} {
		response := w.plain("GET", "/v1/agents"+path, "", nil)
		require.Equal(t, 404, response.StatusCode, path)
		require.Equal(t, notFound, textOf(w, response), path)
		require.Regexp(t, "^req_[0-9a-f]{32}$", response.Header.Get("X-Request-Id"))
	}
	for _, path := range []string{"agents/environments/x", "agents/sessions/" + id + "/artifacts", "agents/sessions/" + id + "/traces",
		"agents/a/b", "agents/vaults", "vaults", "vaults/v/credentials"} {
		response := w.plain("GET", "/v1/"+path, "", nil)
		require.Equal(t, 404, response.StatusCode, path)
		require.Contains(t, textOf(w, response), `"code":"unsupported_operation"`, path)
	}
}

func TestTheBetaHeaderIsThereOnce(t *testing.T) {
	w := newWorld(t, everyState())
	for _, values := range [][]string{nil, {"agents=v2"}, {"agents=v1", "agents=v1"}, {"agents=v1, other"}} {
		response := w.plain("GET", "/v1/agents/sessions", "", http.Header{"Openai-Beta": values})
		require.Equal(t, 400, response.StatusCode)
		require.Contains(t, textOf(w, response), `"type":"invalid_beta","code":"invalid_beta","param":null`)
		require.Equal(t, "false", response.Header.Get("X-Should-Retry"))
	}
}

func TestBodiesThatAreRefused(t *testing.T) {
	w := newWorld(t, everyState())
	id := w.made("hello", "idle")
	before := w.digest()
	valid := `"environment":{"type":"none"},"agent":{"model":"default"}`
	for name, c := range map[string]struct{ path, body, says string }{
		"no JSON":                {"", `{`, "one JSON value"},
		"two values":             {"", `{} {}`, "one JSON value"},
		"no UTF-8":               {"", "{\"a\":\"\xff\"}", "UTF-8"},
		"a list":                 {"", `[]`, "JSON object"},
		"null":                   {"", `null`, "JSON object"},
		"a name twice":           {"", `{` + valid + `,"metadata":{"a":"1","a":"2"}}`, `"param":"metadata.a"`},
		"a name twice, deep":     {"", `{` + valid + `,"input":[{"role":"user","content":[{"type":"x","type":"y"}]}]}`, `"param":"input[0].content[0].type"`},
		"an unknown member":      {"", `{` + valid + `,"colour":1}`, `"param":"colour"`},
		"no environment":         {"", `{"agent":{"model":"default"}}`, `"param":"environment"`},
		"another environment":    {"", `{"environment":{"type":"openai_hosted","files":[]},"agent":{"model":"default"}}`, `"param":"environment.type"`},
		"no model":               {"", `{"environment":{"type":"none"}}`, `"param":"agent.model"`},
		"an unknown model":       {"", `{"environment":{"type":"none"},"agent":{"model":"nobody"}}`, `"param":"agent.model"`},
		"an unknown agent":       {"", `{"environment":{"type":"none"},"agent_id":"nobody"}`, `"param":"agent_id"`},
		"a tool of another kind": {"", `{"environment":{"type":"none"},"agent":{"model":"default","tools":[{"type":"web_search"}]}}`, `"param":"agent.tools[0].type"`},
		"vaults":                 {"", `{` + valid + `,"vault_ids":["x"]}`, `"param":"vault_ids"`},
		"an empty input":         {"", `{` + valid + `,"input":""}`, `"param":"input"`},
		"a stream of nothing":    {"", `{` + valid + `,"stream":true}`, `"param":"input"`},
		"too much metadata":      {"", `{` + valid + `,"metadata":{"` + strings.Repeat("k", 65) + `":""}}`, `"param":"metadata"`},
		"null events":            {"/" + id + "/events", `{"events":null}`, `"param":"events"`},
		"no events":              {"/" + id + "/events", `{}`, `"param":"events"`},
		"65 events":              {"/" + id + "/events", `{"events":[` + strings.TrimSuffix(strings.Repeat(`{"type":"agent.session.input.cancel"},`, 65), ",") + `]}`, `"param":"events"`},
		"an unknown event":       {"/" + id + "/events", `{"events":[{"type":"agent.session.input.cancel"},{"type":"x"}]}`, `"param":"events[1].type"`},
		"one bad event of two":   {"/" + id + "/events", `{"events":[{"type":"agent.session.input.message","input":[{"role":"user","content":[{"type":"input_text","text":"x"}]}]},{"type":"agent.session.input.cancel","x":1}]}`, `"param":"events[1].x"`},
		"an unknown call":        {"/" + id + "/events", `{"events":[{"type":"agent.session.input.tool_result","call_id":"c","turn_id":"t","success":true,"output":"x"}]}`, "Unknown pending tool call: c"},
	} {
		t.Run(name, func(t *testing.T) {
			response := w.plain("POST", "/v1/agents/sessions"+c.path, c.body, http.Header{"Idempotency-Key": {"k"}})
			text := textOf(w, response)
			require.Equal(t, 400, response.StatusCode, text)
			require.Contains(t, text, c.says)
			require.Contains(t, text, `"type":"invalid_request_error","code":"invalid_request_error"`)
			require.Equal(t, "false", response.Header.Get("X-Should-Retry"))
		})
	}
	response := w.plain("POST", "/v1/agents/sessions", `{}`, http.Header{"Content-Type": {"text/plain"}})
	require.Equal(t, 400, response.StatusCode)
	response = w.plain("POST", "/v1/agents/sessions", strings.Repeat(" ", 9<<20), nil)
	require.Equal(t, 413, response.StatusCode)
	require.Contains(t, textOf(w, response), `"code":"request_too_large"`)
	response = w.plain("POST", "/v1/agents/sessions/"+id+"/events", `{"events":[]}`, http.Header{"Idempotency-Key": {"k"}})
	require.Equal(t, 202, response.StatusCode)
	require.Equal(t, before, w.digest(), "nothing was written")
}

func TestIdempotencyKeys(t *testing.T) {
	w := newWorld(t, everyState())
	key := option.WithHeader("Idempotency-Key", "key 1")
	first, err := w.sessions().New(w.ctx(), asking("hello"), key)
	require.NoError(t, err)
	again, err := w.sessions().New(w.ctx(), asking("hello"), key)
	require.NoError(t, err)
	require.Equal(t, first.ID, again.ID)
	w.until(first.ID, "idle")
	turns, err := w.sessions().Turns.List(w.ctx(), first.ID, openai.BetaAgentSessionTurnListParams{})
	require.NoError(t, err)
	require.Len(t, turns.Data, 1)
	requireConflict := func(err error) {
		t.Helper()
		var refused *openai.Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, 409, refused.StatusCode)
		require.Equal(t, "idempotency_conflict", refused.Code)
	}
	_, err = w.sessions().New(w.ctx(), asking("other"), key)
	requireConflict(err)

	t.Run("a repeated cancel keeps its target", func(t *testing.T) {
		id := w.made("hang", "in_progress")
		cancel := openai.BetaAgentSessionEventNewParams{IdempotencyKey: openai.String("key 2"),
			Events: []openai.AgentSessionInputParamUnion{{OfParamAgentSessionInputCancel: &openai.AgentSessionInputParamAgentSessionInputCancel{}}}}
		require.NoError(t, w.sessions().Events.New(w.ctx(), id, cancel))
		w.until(id, "idle")
		message := openai.BetaAgentSessionEventNewParams{IdempotencyKey: openai.String("key 3"), Events: []openai.AgentSessionInputParamUnion{
			openai.AgentSessionInputParamOfParamAgentSessionInputMessage([]openai.AgentSessionInputMessageParam{{
				Content: []openai.InputContentParamUnion{openai.InputContentParamOfParamInputText("hang on")}}})}}
		for range 2 {
			require.NoError(t, w.sessions().Events.New(w.ctx(), id, message))
		}
		w.until(id, "in_progress")
		require.NoError(t, w.sessions().Events.New(w.ctx(), id, cancel))
		w.until(id, "in_progress")
		turns, err := w.sessions().Turns.List(w.ctx(), id, openai.BetaAgentSessionTurnListParams{})
		require.NoError(t, err)
		require.Len(t, turns.Data, 2)
		require.EqualValues(t, "in_progress", turns.Data[0].Status)
		message.IdempotencyKey = openai.String("key 2")
		requireConflict(w.sessions().Events.New(w.ctx(), id, message))
	})
	_, err = w.sessions().Delete(w.ctx(), first.ID)
	require.NoError(t, err)
	_, err = w.sessions().New(w.ctx(), asking("hello"), key)
	requireConflict(err)
}
