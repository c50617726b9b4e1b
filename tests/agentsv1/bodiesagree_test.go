package agentsv1

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// spoil calls try with a value changed at each of its places in turn: by other values,
// by what is missing, and by what is too much. put stores the value where it belongs.
func spoil(value any, put func(any), try func()) {
	for _, other := range []any{nil, true, false, 0, 1.5, "", "x", []any{}, []any{nil}, map[string]any{}} {
		put(other)
		try()
	}
	put(value)
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			spoil(member, func(v any) { value[name] = v }, try)
			delete(value, name)
			try()
			value[name] = member
		}
		value["colour"] = 1
		try()
		delete(value, "colour")
	case []any:
		for i, element := range value {
			spoil(element, func(v any) { value[i] = v }, try)
		}
	}
}

// What the schemas of bodies refuse the host refuses. What they let pass it takes,
// unless that is wrong for another reason than its form.
func TestBodiesAreTakenByTheirSchemas(t *testing.T) {
	const agent = `"instructions":"i","service_tier":"auto","compaction":null,"experimental":null,` +
		`"tools":[{"type":"function","name":"look","description":"d","parameters":{"type":"object"},"async":false,"defer_loading":false}],` +
		`"reasoning":{"effort":"low","summary":null},"text":{"format":{"type":"json_schema","schema":{"type":"object"}},"verbosity":"medium"},` +
		`"multi_agent":{"enabled":false,"max_concurrent_subagents":3}`
	const input = `[{"type":"message","role":"user","content":[{"type":"input_text","text":"x"},{"type":"input_image","image_url":"https://example.com/x.png"}]}]`
	w := newWorld(t, everyState())
	s := w.made("hello", "idle")
	saved := gjson.Get(textOf(w, w.plain("POST", "/v1/agents", `{"model":"default"}`, nil)), "id").String()
	for name, c := range map[string]struct {
		path, body string
		others     []string // what may be wrong besides: a parameter, or the beginning of the message
	}{
		"SessionCreate": {"/sessions", `{"environment":{"type":"none"},"agent_id":"default","agent":{"model":"default",` + agent + `},"input":` + input +
			`,"metadata":{"a":"b"},"stream":false,"stream_options":null,"review":"none","vault_ids":[],"prompt_cache_options":null,"spend_control":null}`,
			[]string{"agent_id", "agent.model", "stream_options", "input", "agent.text.format.schema", "input[0].content[1].image_url"}},
		"SessionUpdate": {"/sessions/" + s, `{"metadata":{"a":"b"},"agent":null,"review":"none","prompt_cache_options":null,"spend_control":null}`, nil},
		"AgentCreate":   {"", `{"model":"default","name":"n","metadata":{"a":"b"},` + agent + `}`, []string{"model", "text.format.schema"}},
		"AgentUpdate":   {"/" + saved, `{"model":"default","name":"n","metadata":{"a":"b"},` + agent + `}`, []string{"model", "text.format.schema"}},
		"EventsCreate": {"/sessions/" + s + "/events", `{"events":[{"type":"agent.session.input.message","input":` + input + `}]}`,
			[]string{"events[0].input[0].content[1].image_url"}},
		"InputCancelEvent": {"/sessions/" + s + "/events", `{"events":[{"type":"agent.session.input.cancel"}]}`, nil},
		"InputToolResultEvent": {"/sessions/" + s + "/events", `{"events":[{"type":"agent.session.input.tool_result","call_id":"c","turn_id":"t","success":true,` +
			`"output":[{"type":"input_text","text":"x"}],"error":null}]}`, []string{"Unknown pending tool call"}},
	} {
		t.Run(name, func(t *testing.T) {
			schema := "#/components/schemas/" + name
			if strings.HasPrefix(name, "Input") {
				schema = "#/components/schemas/EventsCreate"
			}
			var body any
			require.NoError(t, json.Unmarshal([]byte(c.body), &body))
			seen := map[string]bool{}
			try := func() {
				text, err := json.Marshal(body)
				require.NoError(t, err)
				if seen[string(text)] {
					return
				}
				seen[string(text)] = true
				form := w.watch.described.judgeJSON(schema, text)
				answer := w.plain("POST", "/v1/agents"+c.path, string(text), nil)
				said := textOf(w, answer)
				because := gjson.Get(said, "error.param").String()
				other := slices.ContainsFunc(c.others, func(o string) bool {
					return because == o || strings.HasPrefix(gjson.Get(said, "error.message").String(), o)
				})
				if taken := answer.StatusCode < http.StatusMultipleChoices; taken != (form == nil) && (taken || !other) {
					t.Errorf("%s\n%s\n%v", text, said, form)
				}
			}
			try()
			spoil(body, func(v any) { body = v }, try)
		})
	}
}
