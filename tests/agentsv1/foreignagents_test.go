package agentsv1

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"agenthost/host/api"
)

// A saved agent of another owner is as one that nobody has, whatever is asked of it.
func TestCase52ForeignAgentsAreAsUnknownOnes(t *testing.T) {
	w := newWorld(t, everyState())
	ann, bob := w.person(api.KeyCreateArgs{Owner: "ann"}), w.person(api.KeyCreateArgs{Owner: "bob"})
	key := http.Header{"Idempotency-Key": {"saved"}}
	save := asked{method: "POST", path: "", body: `{"model":"default","name":"mine","instructions":"secret words"}`, header: key}
	saved := func(p *person) string {
		response := p.ask(save)
		text := textOf(w, response)
		require.Equal(t, 200, response.StatusCode, text)
		return gjson.Get(text, "id").String()
	}
	foreign, own := saved(ann), saved(bob)
	require.NotEqual(t, foreign, own, "keys of requests are an owner's")
	require.Equal(t, foreign, saved(ann))
	require.Equal(t, own, saved(bob))
	gone := gjson.Get(textOf(w, ann.ask(asked{method: "POST", body: `{"model":"default"}`})), "id").String()
	require.Equal(t, 200, ann.ask(asked{method: "DELETE", path: "/" + gone}).StatusCode)

	missing := "agent_" + strings.Repeat("0", 32)
	before := w.digest()
	for _, a := range []asked{
		{method: "GET", path: "/<agent>"},
		{method: "POST", path: "/<agent>", body: `{"name":"yours"}`},
		{method: "POST", path: "/<agent>", body: `{}`},
		{method: "DELETE", path: "/<agent>"},
		{method: "POST", path: "/sessions", body: `{"environment":{"type":"none"},"agent_id":"<agent>","input":"hello"}`},
		{method: "GET", path: "/sessions?agent_id=<agent>"},
	} {
		want := bob.answer(a.with(map[string]string{"<agent>": missing}))
		require.Equal(t, a.path == "/sessions?agent_id=<agent>", want[:3] == "200", want)
		for _, id := range []string{foreign, gone} {
			require.Equal(t, want, bob.answer(a.with(map[string]string{"<agent>": id})), "%s %s", a.method, a.path)
		}
		if strings.HasPrefix(a.path, "/<agent>") {
			require.True(t, strings.HasPrefix(want, "404") && strings.HasSuffix(want, notFound), want)
			require.Equal(t, want, bob.answer(a.with(map[string]string{"<agent>": "nobody"})), "%s %s", a.method, a.path)
		}
	}
	for _, query := range []string{"", "?order=asc", "?limit=1", "?after=" + foreign, "?order=asc&after=" + foreign} {
		page := bob.answer(asked{method: "GET", path: query})
		require.True(t, strings.HasPrefix(page, "200"), page)
		require.NotContains(t, page, foreign)
		require.NotContains(t, page, gone)
	}
	require.Equal(t, before, w.digest(), "nothing was written")
	require.Contains(t, ann.answer(asked{method: "GET", path: "/" + foreign}), "secret words")
}
