package agentsv1

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"agenthost/host"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
	"agenthost/tools/subagent"
)

// withChildren is a world whose agent says, calls, asks, fails, hangs, and has a
// companion, by what it is told.
func withChildren(t *testing.T, wrap func(sessions.Store) sessions.Store) *world {
	t.Helper()
	companion := func(action, prompt string) scripted.Step {
		return scripted.Step{Calls: []scripted.Call{{Path: "/agents/helper", Args: `{"action":"` + action + `","name":"kid"` + prompt + `}`}}}
	}
	script := scripted.Play(scripted.Script{Rules: []scripted.Rule{
		{When: "hang", Steps: []scripted.Step{{Hang: true}}},
		{When: "fail", Steps: []scripted.Step{{Fail: "broken"}}},
		{When: "ask", Steps: []scripted.Step{{Calls: []scripted.Call{{Path: "/functions/look", Args: `{}`}}}, {Text: "done"}}},
		{When: "family", Steps: []scripted.Step{companion("spawn", ""), companion("message", `,"prompt":"x"`),
			companion("terminate", ""), companion("spawn", `,"prompt":"x"`), companion("wait", ""), {Text: "done"}}},
		{Steps: []scripted.Step{{Text: "ok"}}},
	}})
	tree := &tools.Tree{}
	require.NoError(t, subagent.Mount(tree, "helper"))
	return newFitted(t, script, fitting{tools: tree, wrap: wrap, fit: func(profiles map[string]host.Profile) {
		profile := profiles[sessions.DefaultProfile]
		profiles["helper"] = profile
		profile.Tools = []string{"/agents"}
		profiles[sessions.DefaultProfile] = profile
	}})
}

// survey asks for every operation that is described.
type survey struct {
	*world
	bodies map[string]string // by operation
}

const createBody = `{"environment":{"type":"none"},"agent":{"model":"default"},"input":"hello"}`

func newSurvey(w *world) *survey {
	return &survey{w, map[string]string{
		"createAgent":   `{"model":"default","name":"ann"}`,
		"updateAgent":   `{"metadata":{"a":"b"}}`,
		"createSession": createBody,
		"updateSession": `{"metadata":{"a":"b"}}`,
		"sendEvents":    `{"events":[` + eventCancel + `]}`,
	}}
}

// each calls do with each operation, by its name.
func (w *survey) each(do func(method, path string, o *openapi3.Operation)) {
	paths := w.watch.described.doc.Paths
	for _, path := range paths.InMatchingOrder() {
		operations := paths.Value(path).Operations()
		for _, method := range slices.Sorted(maps.Keys(operations)) {
			do(method, path, operations[method])
		}
	}
}

// request is a well-formed request for an operation.
func (w *survey) request(method, path string, o *openapi3.Operation, names map[string]string, header http.Header) *http.Request {
	if strings.Contains(path, "{subagent}") {
		path = strings.ReplaceAll(path, "{turn}", names["its turn"])
	}
	for name, value := range names {
		path = strings.ReplaceAll(path, "{"+name+"}", value)
	}
	r := httptest.NewRequestWithContext(w.ctx(), method, path, strings.NewReader(w.bodies[o.OperationID]))
	r.Header = http.Header{"Openai-Beta": {"agents=v1"}, "Content-Type": {"application/json"}}
	maps.Copy(r.Header, header)
	return r
}

// statuses answers a request by doors that are watched, and returns the status.
func (w *survey) status(doors http.Handler, r *http.Request) int {
	out := httptest.NewRecorder()
	w.watch.over(doors).ServeHTTP(out, r)
	return out.Code
}

// family makes a session with a turn and a companion that has had one.
func (w *survey) family() map[string]string {
	s := w.made("family", "idle")
	agent := w.plain("POST", "/v1/agents", w.bodies["createAgent"], nil)
	names := map[string]string{"agent": gjson.Get(textOf(w.world, agent), "id").String(), "session": s}
	first := func(path string) string {
		return gjson.Get(textOf(w.world, w.plain("GET", "/v1/agents/sessions/"+s+path, "", nil)), "data.0.id").String()
	}
	names["turn"] = first("/turns")
	names["subagent"] = first("/subagents")
	names["its turn"] = first("/subagents/" + names["subagent"] + "/turns")
	return names
}
