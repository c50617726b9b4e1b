package agentsv1

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	face "agenthost/host/agentsv1"
	"agenthost/host/api"
	"agenthost/host/server"
	"agenthost/sessions"
)

// A stream ends with the key that it was opened by, and a key that is revoked
// opens none.
func TestARevokedKeyEndsItsStreams(t *testing.T) {
	w := newWorld(t, everyState())
	id := w.made("hello", "idle")
	var revoked, busy atomic.Bool
	readmit := func(api.Caller, int) error {
		if revoked.Load() {
			return sessions.Errorf(sessions.CodeUnauthenticated, "The key was revoked.")
		}
		return nil
	}
	authenticate := func(*http.Request) (api.Caller, error) {
		if busy.Load() {
			return api.Caller{}, sessions.Errorf(sessions.CodeOverloaded, "Too fast.").With(api.DetailRetryAfterMs, int64(1500))
		}
		return api.Caller{Owner: sessions.LocalOwner}, nil
	}
	var doors *server.Server
	stay := func(ctx context.Context, caller api.Caller) (context.Context, context.CancelFunc, error) {
		return doors.Stay(ctx, caller)
	}
	doors = server.New(server.For(w.host), server.Config{Readmit: readmit,
		Agents: face.New(w.host, face.Config{Authenticate: authenticate, Stay: stay})})
	other := httptest.NewServer(w.watch.over(doors))
	defer other.Close()
	w.url = other.URL

	stream := w.plain("GET", "/v1/agents/sessions/"+id+"/events", "", nil)
	require.Equal(t, 200, stream.StatusCode)
	lines := bufio.NewReader(stream.Body)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, ": connected\n", line)
	doors.Recheck()
	busy.Store(true)
	refused := w.plain("GET", "/v1/agents/sessions/"+id, "", nil)
	require.Contains(t, []int{429, 503}, refused.StatusCode)
	require.NotEmpty(t, refused.Header.Get("Retry-After"))
	busy.Store(false)
	require.Equal(t, 200, w.plain("GET", "/v1/agents/sessions/"+id, "", nil).StatusCode)

	revoked.Store(true)
	doors.Recheck()
	_, err = io.ReadAll(lines)
	require.NoError(t, err, "the stream has ended")
	require.Equal(t, 401, w.plain("GET", "/v1/agents/sessions/"+id+"/events", "", nil).StatusCode)
}

// Paths and event ids that were made to confuse are refused like others, and a
// crowd of streams that nobody reads keeps nobody else from being served.
func TestHostileRequests(t *testing.T) {
	w := newWorld(t, everyState())
	id := w.made("hello", "idle")
	other := w.made("hello", "idle")
	before := w.digest()
	for _, path := range []string{"/..", "/%2e%2e", "/%2f", "/sessions/", "/sessions//", "/sessions/;", "/sessions/" + id + ";x", "/sessions/" + id + "/",
		"/sessions/" + id + "//events", "/sessions/" + id + "%2fevents", "/sessions/" + id + "/../" + other, "/sessions/%ff%fe", "/sessions/" + id + "/turns/%00",
		"/sessions/" + id + "/turns/..%2f..", "/sessions/" + strings.Repeat("a/", 2000), "/sessions/" + strings.Repeat("%41", 5000),
		"/sessions/" + id + "/subagents/..", "/sessions/" + id + "/subagents/" + other + "/items"} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			response := w.plain(method, "/v1/agents"+path, "", nil)
			require.Contains(t, []int{400, 404}, response.StatusCode, "%s %s", method, path)
		}
	}
	require.Equal(t, before, w.digest(), "nothing was written")
	events := w.events(w.plain("POST", "/v1/agents/sessions", `{"environment":{"type":"none"},"agent":{"model":"default"},"input":"hello","stream":true}`, nil))
	foreign := events[len(events)-1].id
	before = w.digest()
	for _, bad := range []string{foreign, "evt_" + strings.Repeat("A", 9000), "evt_______", "-1", "%00", "evt_" + strings.Repeat("_", 70)} {
		response := w.plain("GET", "/v1/agents/sessions/"+id+"/events", "", http.Header{"Last-Event-Id": {bad}})
		require.Equal(t, 400, response.StatusCode, bad)
	}
	for range 300 { // streams that nobody reads
		require.Equal(t, 200, w.plain("GET", "/v1/agents/sessions/"+id+"/events", "", nil).StatusCode)
	}
	_, err := w.sessions().Get(w.ctx(), other)
	require.NoError(t, err, "others are served")
	require.Equal(t, before, w.digest(), "nothing was written")
}
