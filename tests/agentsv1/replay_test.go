package agentsv1

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"agenthost/oracle/scripted"
)

// seen is one event of a stream.
type seen struct{ id, name, data string }

// events reads a stream until the session is settled.
func (w *world) events(response *http.Response) (all []seen) {
	w.t.Helper()
	return w.follow(response, func(seen) {})
}

// follow does so, and shows each event as it comes.
func (w *world) follow(response *http.Response, show func(seen)) (all []seen) {
	w.t.Helper()
	require.Equal(w.t, 200, response.StatusCode)
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	require.True(w.t, lines.Scan())
	require.Equal(w.t, ": connected", lines.Text())
	var e seen
	for lines.Scan() {
		switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			if e.data == "" {
				continue
			}
			show(e)
			all, e = append(all, e), seen{}
			if last := all[len(all)-1].name; last == "agent.session.idle" || last == "agent.session.failed" {
				return all
			}
		}
	}
	require.NoError(w.t, lines.Err())
	return all
}

// shape is an event without what may differ when it is told again: the numbers of
// the session that change with time, and how text was cut.
func shape(e seen) string {
	return e.name + " " + gjson.Get(e.data, "item.id").String() + gjson.Get(e.data, "item_id").String() + " " +
		gjson.Get(e.data, "item.type").String() + gjson.Get(e.data, "turn.status").String() + gjson.Get(e.data, "session.status").String()
}

func TestReplayFromEveryEvent(t *testing.T) {
	script := scripted.Play(scripted.Script{Rules: []scripted.Rule{{Steps: []scripted.Step{
		{Deltas: []scripted.Delta{{Text: "let "}, {Text: "me "}, {Text: "look"}}, Calls: []scripted.Call{{Path: "/builtin/echo", Args: `{"text":"x"}`}}},
		{Text: "it rains"}}}}})
	w := newWorld(t, script)
	created := w.events(w.plain("POST", "/v1/agents/sessions", `{"environment":{"type":"none"},"agent":{"model":"default"},"input":"hi","stream":true}`, nil))
	require.Equal(t, "agent.session.created", created[0].name)
	id := gjson.Get(created[0].data, "session.id").String()
	whole := func(events []seen) (text string) {
		for _, e := range events {
			text += gjson.Get(e.data, "delta").String()
		}
		return text
	}
	require.Equal(t, "let me lookit rains", whole(created))
	had := ""
	for i, e := range created[:len(created)-1] {
		require.Equal(t, e.id, gjson.Get(e.data, "event_id").String())
		require.Equal(t, e.name, gjson.Get(e.data, "type").String())
		require.False(t, gjson.Get(e.data, "error").Exists())
		had += gjson.Get(e.data, "delta").String()
		rest := w.events(w.plain("GET", "/v1/agents/sessions/"+id+"/events", "", http.Header{"Last-Event-Id": {e.id}}))
		require.Equal(t, "let me lookit rains", had+whole(rest), "after event %d, %s", i, e.name)
		require.Equal(t, shapes(created[i+1:]), shapes(rest), "after event %d, %s", i, e.name)
	}
	for _, bad := range []string{"x", "evt_", "evt_AAAA", created[1].id + "x"} {
		response := w.plain("GET", "/v1/agents/sessions/"+id+"/events", "", http.Header{"Last-Event-Id": {bad}})
		require.Equal(t, 400, response.StatusCode, bad)
	}
}

// shapes leaves one of each run of equal shapes.
func shapes(events []seen) []string {
	var all []string
	for _, e := range events {
		if e.name == "agent.session.turn.output_text.delta" || isCallToRun(e) {
			continue // how text is cut may differ, and calls are to be run while they wait only
		}
		all = append(all, shape(e))
	}
	return collapse(all)
}

// isCallToRun is true for the event on which a client runs a call.
func isCallToRun(e seen) bool {
	return strings.HasSuffix(e.name, "turn.item.added") && gjson.Get(e.data, "item.type").String() == "function_call"
}
