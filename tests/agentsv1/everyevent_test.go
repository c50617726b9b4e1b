package agentsv1

import (
	"context"
	"net/http"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"agenthost/persistence/memory"
	"agenthost/sessions"
)

// streamed makes a session with a stream, and returns its events.
func (w *world) streamed(input string) []seen {
	w.t.Helper()
	return w.events(w.plain("POST", "/v1/agents/sessions", `{"environment":{"type":"none"},"agent":{"model":"default"},"input":"`+input+`","stream":true}`, nil))
}

// Every event and every kind of item that is described is served.
func TestEveryEventIsServed(t *testing.T) {
	w := withChildren(t, nil)
	w.streamed("hello")
	w.streamed("fail")
	family := gjson.Get(w.streamed("family")[0].data, "session.id").String()
	p := asking("ask")
	p.ToolHandlers = map[string]openai.AgentToolHandler{"look": func(context.Context, map[string]any) (any, error) { return "seen", nil }}
	asked := w.sessions().NewStreaming(w.ctx(), p)
	_, err := openai.BetaAgentSessionFinalResult(asked)
	require.NoError(t, err)
	hung := w.made("hang", "in_progress")
	stream := w.plain("GET", "/v1/agents/sessions/"+hung+"/events", "", nil)
	w.cancel(hung)
	w.events(stream)

	few := withChildren(t, func(other sessions.Store) sessions.Store {
		require.NoError(t, other.Close())
		return memory.New(memory.Config{FramesPerSession: 4})
	})
	first := few.streamed("hello")[0]
	id := gjson.Get(first.data, "session.id").String()
	for _, key := range []string{"1", "2", "3"} {
		require.NoError(t, few.sessions().Events.New(few.ctx(), id, saying(key, "hello again")))
		few.until(id, "idle")
	}
	lost := few.events(few.plain("GET", "/v1/agents/sessions/"+id+"/events", "", http.Header{"Last-Event-Id": {first.id}}))
	require.Equal(t, "error", lost[len(lost)-1].name)

	for kind := range w.watch.described.doc.Components.Schemas["Event"].Value.Discriminator.Mapping {
		require.True(t, w.watch.seen[kind] || few.watch.seen[kind], kind)
	}
	kinds := map[string]bool{}
	for _, s := range w.listed("") {
		for _, item := range w.listed("/" + s.Get("id").String() + "/items") {
			kinds[item.Get("type").String()] = true
		}
	}
	for kind := range w.watch.described.doc.Components.Schemas["Item"].Value.Discriminator.Mapping {
		require.True(t, kinds[kind], kind)
	}
	require.Len(t, w.listed("/"+family+"/subagents"), 1)
}

// listed returns a page of what is below the sessions' path.
func (w *world) listed(path string) []gjson.Result {
	w.t.Helper()
	return gjson.Get(textOf(w, w.plain("GET", "/v1/agents/sessions"+path, "", nil)), "data").Array()
}
