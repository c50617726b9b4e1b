package agentsv1

import (
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"agenthost/host/api"
	"agenthost/sessions"
)

// Without a good key the answer is the same whatever is asked and whatever is wrong
// with the key, before anything else is looked at.
func TestWhoHasNoGoodKeyIsToldNothing(t *testing.T) {
	w := newWorld(t, everyState())
	ann, gone := w.person(api.KeyCreateArgs{Owner: "ann"}), w.person(api.KeyCreateArgs{Owner: "ann"})
	id := ann.made("hello", "idle")
	_, err := w.host.KeyRevoke(w.ctx(), &api.KeyRevokeArgs{KeyID: gone.key.ID})
	require.NoError(t, err)
	before := w.digest()
	keys := map[string][]string{
		"none": nil, "unknown": {"Bearer ahk_" + strings.Repeat("A", 43)}, "revoked": {"Bearer " + gone.secret},
		"an empty one": {"Bearer "}, "only a scheme": {"Bearer"}, "another scheme": {"Basic " + ann.secret}, "no scheme": {ann.secret},
		"part of one": {"Bearer " + ann.secret[:len(ann.secret)-1]}, "more than one": {"Bearer " + ann.secret + " x"},
		"twice the same": {"Bearer " + ann.secret, "Bearer " + ann.secret}, "a good and a bad one": {"Bearer " + ann.secret, "Bearer x"},
		"two in one": {"Bearer " + ann.secret + ", Bearer " + ann.secret}, "an empty value": {""},
	}
	requests := []asked{
		{method: "GET", path: ""},
		{method: "GET", path: "/sessions"},
		{method: "GET", path: "/sessions/" + id},
		{method: "GET", path: "/sessions/nobody"},
		{method: "GET", path: "/sessions/" + id + "/events"},
		{method: "DELETE", path: "/sessions/" + id},
		{method: "POST", path: "/sessions", body: `{"environment":{"type":"none"},"agent":{"model":"default"},"input":"hello","stream":true}`},
		{method: "POST", path: "/sessions", body: strings.Repeat("x", 1<<10)},
		{method: "POST", path: "/sessions/" + id + "/events", body: `{"events":[` + eventMessage + `]}`},
		{method: "GET", path: "/vaults"},
		{method: "GET", path: "/openapi.yaml"},
	}
	want := ""
	for name, values := range keys {
		for _, a := range requests {
			for _, beta := range [][]string{{"agents=v1"}, nil} {
				response := w.plain(a.method, "/v1/agents"+a.path, a.body, http.Header{"Authorization": values, "Openai-Beta": beta})
				require.Equal(t, []string{"Bearer"}, response.Header.Values("WWW-Authenticate"), name)
				got := wholeOf(w, response)
				require.True(t, strings.HasPrefix(got, "401 Unauthorized\n"), "%s: %s %s: %s", name, a.method, a.path, got)
				if want == "" {
					want = got
				}
				require.Equal(t, want, got, "%s: %s %s", name, a.method, a.path)
			}
		}
	}
	problem := gjson.Parse(want[strings.Index(want, "{"):]).Get("error")
	require.Equal(t, "invalid_request_error", problem.Get("type").String())
	require.Equal(t, "null", problem.Get("param").Raw)
	require.Equal(t, before, w.digest(), "nothing was written")
	require.Equal(t, 200, w.plain("GET", "/v1/agents/sessions/"+id, "", http.Header{"Authorization": {"bearer " + ann.secret}}).StatusCode)

	var refused *openai.Error
	client := openai.NewClient(option.WithBaseURL(w.url+"/v1"), option.WithAPIKey(gone.secret))
	_, err = client.Beta.Agents.Sessions.Get(w.ctx(), id)
	require.ErrorAs(t, err, &refused)
	require.Equal(t, 401, refused.StatusCode)
}

// The beta header is looked at behind the key and before all else.
func TestTheBetaHeaderComesBehindTheKey(t *testing.T) {
	w := newWorld(t, everyState())
	ann := w.person(api.KeyCreateArgs{Owner: "ann"})
	id := ann.made("hello", "idle")
	before, want := w.digest(), ""
	for _, values := range [][]string{nil, {""}, {"agents=v2"}, {"Agents=v1"}, {"agents=v1", "agents=v1"}, {"agents=v1, other"}, {"other", "agents=v1"}} {
		for _, a := range []asked{
			{method: "GET", path: "/sessions/" + id},
			{method: "GET", path: "/sessions/nobody"},
			{method: "DELETE", path: "/sessions/" + id},
			{method: "POST", path: "/sessions", body: "{"},
			{method: "GET", path: "/vaults"},
		} {
			a.header = http.Header{"Openai-Beta": values}
			got := ann.answer(a)
			require.True(t, strings.HasPrefix(got, "400 Bad Request\n"), "%q: %s", values, got)
			require.Contains(t, got, `"type":"invalid_beta","code":"invalid_beta","param":null}}`)
			require.Contains(t, got, "X-Should-Retry: false")
			if want == "" {
				want = got
			}
			require.Equal(t, want, got)
		}
	}
	require.Equal(t, before, w.digest(), "nothing was written")
}

// Each key has its own rate. The SDK waits as long as it is told, and gets through.
func TestAKeyHasItsRate(t *testing.T) {
	w := newWorld(t, everyState())
	slow := w.person(api.KeyCreateArgs{Owner: "ann", PerSecond: new(1)})
	other, bob := w.person(api.KeyCreateArgs{Owner: "ann"}), w.person(api.KeyCreateArgs{Owner: "bob", PerSecond: new(1000)})
	id := other.made("hello", "idle")
	create := asked{method: "POST", path: "/sessions", body: `{"environment":{"type":"none"},"agent":{"model":"default"}}`}
	before := w.digest()
	var refused *http.Response
	for range 10 {
		if refused = slow.ask(asked{method: "GET", path: "/sessions/" + id}); refused.StatusCode != 200 {
			break
		}
	}
	require.Equal(t, 429, refused.StatusCode)
	require.Equal(t, "1", refused.Header.Get("Retry-After"))
	require.Empty(t, refused.Header.Get("X-Should-Retry"), "it may be tried again")
	require.Empty(t, refused.Header.Get("WWW-Authenticate"))
	require.JSONEq(t, `{"error":{"message":"The key may make 1 requests a second, and has made more; try again after a pause.",
		"type":"rate_limit_error","code":"rate_limit_exceeded","param":null}}`, textOf(w, refused))
	require.Equal(t, 429, slow.ask(create).StatusCode)
	require.Equal(t, 429, slow.ask(asked{method: "GET", path: "/sessions/" + id + "/events"}).StatusCode)
	require.Equal(t, before, w.digest(), "nothing was written")
	for range 20 { // the same owner's other key, and another owner's
		require.Equal(t, 200, other.ask(asked{method: "GET", path: "/sessions/" + id}).StatusCode)
		require.Equal(t, 200, bob.ask(asked{method: "GET", path: "/sessions"}).StatusCode)
	}

	var statuses []int
	heard := option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		response, err := next(r)
		if err == nil {
			statuses = append(statuses, response.StatusCode)
		}
		return response, err
	})
	made, err := slow.sessions().New(w.ctx(), asking("hello"), heard)
	require.NoError(t, err)
	_, err = slow.sessions().Get(w.ctx(), made.ID, heard)
	require.NoError(t, err)
	require.Contains(t, statuses, 429)
	list, err := other.sessions().List(w.ctx(), openai.BetaAgentSessionListParams{})
	require.NoError(t, err)
	require.Len(t, list.Data, 2, "what was refused has made nothing")
}

// A key that was revoked ends its stream, and no other's.
func TestARevokedKeyEndsNoOthersStreams(t *testing.T) {
	w := newWorld(t, everyState())
	one, two := w.person(api.KeyCreateArgs{Owner: "ann"}), w.person(api.KeyCreateArgs{Owner: "ann", Role: sessions.KeyOfAdmin})
	id := two.made("hello", "idle")
	cut, open := one.ask(asked{method: "GET", path: "/sessions/" + id + "/events"}), two.ask(asked{method: "GET", path: "/sessions/" + id + "/events"})
	require.Equal(t, 200, cut.StatusCode)
	_, err := w.host.KeyRevoke(w.ctx(), &api.KeyRevokeArgs{KeyID: one.key.ID})
	require.NoError(t, err)
	require.Equal(t, ": connected\n\n", textOf(w, cut), "the stream has ended")
	require.Equal(t, 401, one.ask(asked{method: "GET", path: "/sessions/" + id}).StatusCode)
	require.NoError(t, two.sessions().Events.New(w.ctx(), id, saying("k", "hello")))
	require.NotEmpty(t, w.events(open))
}
