package server_test

import (
	"context"
	"encoding/base64"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/server"
	"agenthost/sessions"
)

// admitting lets the key "good" in, as ann.
func admitting(secret string) (api.Caller, error) {
	switch secret {
	case "good":
		return api.Caller{Owner: "ann"}, nil
	case "busy":
		return api.Caller{}, sessions.Errorf(sessions.CodeOverloaded, "Too fast.").With(api.DetailRetryAfterMs, int64(2_001))
	}
	return api.Caller{}, sessions.Errorf(sessions.CodeUnauthenticated, "A key is needed.")
}

// whoami answers with who asks.
func whoami() *service {
	return &service{do: func(_ context.Context, caller api.Caller, _ any, _ emitFunc) (any, error) { return caller, nil }}
}

func TestBearersOfKeys(t *testing.T) {
	address := start(t, whoami(), server.Config{Authenticate: server.Bearer(admitting)})
	for _, header := range []string{"Bearer good", "bearer good", "BEARER   good "} {
		a := call(t, address, `{"op":"$ping"}`, "Authorization", header)
		require.Equal(t, 200, a.status, header)
		require.Contains(t, a.body, `"Owner":"ann"`)
	}
	for _, header := range []string{"", "good", "Basic good", "Bearer", "Bearer good good", "Bearer good,", "Bearer bad", "Bearergood"} {
		a := call(t, address, `{"op":"$ping"}`, "Authorization", header)
		a.refused(t, 401, sessions.CodeUnauthenticated)
		require.Equal(t, "Bearer", a.header.Get("WWW-Authenticate"), header)
	}
	a := call(t, address, `{"op":"$ping"}`, "Authorization", "Bearer busy")
	a.refused(t, 429, sessions.CodeOverloaded)
	require.Equal(t, "3", a.header.Get("Retry-After"), "whole seconds, rounded up")
}

func TestBrowsersSendKeysAsASubprotocol(t *testing.T) {
	address := start(t, whoami(), server.Config{Authenticate: server.Bearer(admitting)})
	dial := func(protocols ...string) (*websocket.Conn, int) {
		conn, response, err := websocket.Dial(t.Context(), "ws://"+address+"/v1/ws", &websocket.DialOptions{Subprotocols: protocols})
		if err != nil {
			require.NotNil(t, response, err)
			return nil, response.StatusCode
		}
		t.Cleanup(func() { _ = conn.CloseNow() })
		return conn, response.StatusCode
	}
	encoded := func(key string) string {
		return "agenthost.bearer." + base64.RawURLEncoding.EncodeToString([]byte(key))
	}
	for _, protocols := range [][]string{{api.Subprotocol, encoded("good")}, {encoded("good"), api.Subprotocol}} {
		conn, status := dial(protocols...)
		require.Equal(t, http.StatusSwitchingProtocols, status)
		require.Equal(t, api.Subprotocol, conn.Subprotocol(), "the key is not sent back")
	}
	for _, protocol := range []string{encoded("bad"), "agenthost.bearer.", "agenthost.bearer.good!", "agenthost.bearer.good"} {
		_, status := dial(api.Subprotocol, protocol)
		require.Equal(t, 401, status, protocol)
	}
	_, status := dial(api.Subprotocol)
	require.Equal(t, 401, status)
}

func TestUnixSocketNeedsNoKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	stop := startOn(listener, whoami(), server.Config{Authenticate: server.Bearer(admitting)})
	t.Cleanup(func() { require.NoError(t, stop()) })
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}, DisableKeepAlives: true}
	ask := func(bearer string) answer {
		r, err := http.NewRequestWithContext(t.Context(), "POST", "http://localhost/v1/call", strings.NewReader(`{"op":"$ping"}`))
		require.NoError(t, err)
		if bearer != "" {
			r.Header.Set("Authorization", bearer)
		}
		return exchange(t, transport, r)
	}
	require.Contains(t, ask("").body, `"Owner":"local","Admin":true`)
	require.Contains(t, ask("Bearer good").body, `"Owner":"ann","Admin":false`, "who shows a key is its owner")
	ask("Bearer ").refused(t, 401, sessions.CodeUnauthenticated)
	ask("Bearer bad").refused(t, 401, sessions.CodeUnauthenticated)
}
