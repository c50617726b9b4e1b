package agentsv1

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
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
