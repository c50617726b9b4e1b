package agentsv1

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"agenthost/oracle/openai"
	"agenthost/oracle/openai/openaitest"
	"agenthost/sessions"
)

// withProvider is a host whose model is behind a provider's API.
func withProvider(t *testing.T, replies ...openaitest.Reply) (*world, *openaitest.Server) {
	t.Helper()
	provider := openaitest.New(t, replies...)
	model, err := openai.New(openai.Config{Model: "model", APIKey: "k", BaseURL: provider.BaseURL(), MaxRetries: -1})
	require.NoError(t, err)
	return newWorld(t, model), provider
}

const pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func (w *world) send(id, events string, want int) string {
	w.t.Helper()
	response := w.plain("POST", "/v1/agents/sessions/"+id+"/events", `{"events":[`+events+`]}`, nil)
	text := textOf(w, response)
	require.Equal(w.t, want, response.StatusCode, text)
	return text
}

func message(parts string) string {
	return `{"type":"agent.session.input.message","input":[{"role":"user","content":[` + parts + `]}]}`
}

func textPart(text string) string { return `{"type":"input_text","text":"` + text + `"}` }

// What a session asks of its agent reaches the provider with every turn, and what is
// said reaches it in all its parts.
func TestWhatTheProviderIsAsked(t *testing.T) {
	w, provider := withProvider(t, openaitest.Text(`{"x":1}`), openaitest.Text(`{"x":2}`))
	response := w.plain("POST", "/v1/agents/sessions", `{"environment":{"type":"none"},"agent":{"model":"default","instructions":"Be brief.",
		"reasoning":{"effort":"high"},"text":{"format":{"type":"json_schema","schema":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false}}}},
		"input":[{"role":"user","content":[`+textPart("look at")+`,{"type":"input_image","image_url":"`+pixel+`"}]},{"type":"message","role":"user","content":[`+textPart("and this")+`]}]}`, nil)
	text := textOf(w, response)
	require.Equal(t, 200, response.StatusCode, text)
	id := gjson.Get(text, "id").String()
	require.Equal(t, "high", gjson.Get(text, "agent.reasoning.effort").String())
	require.Equal(t, "Be brief.", gjson.Get(text, "agent.instructions").String())
	w.until(id, "idle")
	w.send(id, message(`{"type":"input_image","image_url":"https://example.com/a.png"},`+textPart("more")), 202)
	require.Eventually(t, func() bool { return len(provider.Requests()) == 2 }, patience, 5*time.Millisecond)
	w.until(id, "idle")

	first := gjson.ParseBytes(provider.Requests()[0].Body)
	require.Equal(t, "high", first.Get("reasoning_effort").String())
	require.Equal(t, "json_schema", first.Get("response_format.type").String())
	require.Equal(t, "integer", first.Get("response_format.json_schema.schema.properties.x.type").String())
	require.Contains(t, first.Get("messages.0.content").String(), "Be brief.")
	require.Equal(t, "look at", first.Get("messages.1.content.0.text").String())
	require.Equal(t, pixel, first.Get("messages.1.content.1.image_url.url").String())
	require.Equal(t, "and this", first.Get("messages.1.content.2.text").String())
	require.EqualValues(t, 2, first.Get("messages.#").Int(), "the messages of an input are one")
	second := gjson.ParseBytes(provider.Requests()[1].Body)
	for _, path := range []string{"reasoning_effort", "response_format", "messages.0", "messages.1"} {
		require.JSONEq(t, first.Get(path).Raw, second.Get(path).Raw, path)
	}
	require.Equal(t, "https://example.com/a.png", second.Get("messages.3.content.0.image_url.url").String())

	items := w.items(id)
	require.Len(t, items, 4)
	require.Equal(t, pixel, gjson.Get(items[0].RawJSON(), "content.1.image_url").String())
	require.Equal(t, "input_image", gjson.Get(items[2].RawJSON(), "content.0.type").String())
	require.Equal(t, `{"x":2}`, gjson.Get(items[3].RawJSON(), "content.0.text").String())
}

func TestImagesThatAreNone(t *testing.T) {
	w := newWorld(t, everyState())
	id := w.made("hello", "idle")
	before := w.digest()
	for url, says := range map[string]string{
		"":                              "URL of an image",
		"a.png":                         "URL of an image",
		"ftp://example.com/a.png":       "URL of an image",
		"data:image/png,x":              "base64",
		"data:text/plain;base64,eA==":   "data:image/",
		"data:image/png;base64,":        "exactly one of data and url",
		"data:image/png;base64,%%%":     "base64 with padding",
		"data:image/;base64,eA==":       "mediaType",
		"data:image/p ng;base64,eA==":   "mediaType",
		"file:///etc/passwd":            "URL of an image",
		"https:///a.png":                "URL of an image",
		"data:image/png;base64,eA==\\n": "base64 with padding",
	} {
		t.Run(url, func(t *testing.T) {
			text := w.send(id, message(`{"type":"input_image","image_url":"`+url+`"}`), 400)
			require.Contains(t, text, says)
			require.Contains(t, text, `"type":"invalid_request_error"`)
		})
	}
	require.Equal(t, before, w.digest(), "nothing was written")
}

// As many events as may come at once are one message; one more is refused.
func TestTheMostEventsOfARequest(t *testing.T) {
	w, provider := withProvider(t, openaitest.Text("ok"))
	made, err := w.sessions().New(w.ctx(), body(""))
	require.NoError(t, err)
	var events []string
	for i := range 64 {
		events = append(events, message(textPart(fmt.Sprint("part ", i))))
	}
	before := w.digest()
	require.Contains(t, w.send(made.ID, strings.Join(events, ",")+","+events[0], 400), "at most 64 events")
	require.Equal(t, before, w.digest())
	w.send(made.ID, "", 202)
	require.Equal(t, before, w.digest(), "no events are no write")
	w.send(made.ID, strings.Join(events, ","), 202)
	require.Eventually(t, func() bool { return len(provider.Requests()) == 1 }, patience, 5*time.Millisecond)
	w.until(made.ID, "idle")
	asked := gjson.ParseBytes(provider.Requests()[0].Body)
	require.EqualValues(t, 64, asked.Get("messages.0.content.#").Int())
	require.Equal(t, "part 63", asked.Get("messages.0.content.63.text").String())
	items := w.items(made.ID)
	require.Len(t, items, 2)
	require.Len(t, items[0].AsMessage().Content, 64)
}

// A result that is too large leaves the call as it was, and its key free.
func TestAResultThatIsTooLarge(t *testing.T) {
	w := newFitted(t, everyState(), fitting{limits: sessions.Limits{ToolResultBytes: 1000}})
	id := w.made("ask", "requires_action")
	action := w.until(id, "requires_action").RequiredActions[0]
	before := w.digest()
	result := func(success bool, output string) string {
		text := fmt.Sprintf(`{"events":[{"type":"agent.session.input.tool_result","call_id":%q,"turn_id":%q,"success":%v`, action.CallID, action.TurnID, success)
		return text + output + `}]}`
	}
	for name, body := range map[string]string{
		"an output": result(true, `,"output":"`+strings.Repeat("x", 1001)+`"`),
		"an error":  result(false, `,"error":"`+strings.Repeat("x", 1001)+`"`),
		"content":   result(true, `,"output":[{"type":"input_text","text":"`+strings.Repeat("x", 1001)+`"}]`),
	} {
		t.Run(name, func(t *testing.T) {
			for _, header := range []http.Header{nil, {"Idempotency-Key": {"k"}}} {
				response := w.plain("POST", "/v1/agents/sessions/"+id+"/events", body, header)
				text := textOf(w, response)
				require.Equal(t, 413, response.StatusCode, text)
				require.Equal(t, before, w.digest(), "nothing was written")
			}
		})
	}
	response := w.plain("POST", "/v1/agents/sessions/"+id+"/events", result(true, `,"output":"`+strings.Repeat("x", 900)+`"`), http.Header{"Idempotency-Key": {"k"}})
	require.Equal(t, 202, response.StatusCode, textOf(w, response))
	w.until(id, "idle")
}
