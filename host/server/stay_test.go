package server_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/server"
	"agenthost/sessions"
	"agenthost/tests/rawhttp"
)

// gate lets everyone in until it is shut.
type gate struct{ shut, busy atomic.Bool }

func (g *gate) readmit(_ api.Caller, requests int) error {
	switch {
	case g.shut.Load():
		return sessions.Errorf(sessions.CodeUnauthenticated, "The key was revoked.")
	case g.busy.Load() && requests > 0:
		return sessions.Errorf(sessions.CodeOverloaded, "Too fast.").With(api.DetailRetryAfterMs, int64(7))
	}
	return nil
}

func TestEachRequestOfASocketIsReadmitted(t *testing.T) {
	g := &gate{}
	address := start(t, &service{}, server.Config{Readmit: g.readmit})
	conn, _, err := websocket.Dial(t.Context(), "ws://"+address+"/v1/ws", &websocket.DialOptions{Subprotocols: []string{api.Subprotocol}})
	require.NoError(t, err)
	defer func() { _ = conn.CloseNow() }()
	ask := func() string {
		require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(`{"id":"1","op":"$ping"}`)))
		_, reply, err := conn.Read(t.Context())
		require.NoError(t, err)
		return string(reply)
	}
	require.Contains(t, ask(), `"ok":true`)
	g.busy.Store(true)
	require.Contains(t, ask(), `"code":"OVERLOADED"`)
	require.Contains(t, ask(), `"retryAfterMs":7`)
	g.busy.Store(false)
	require.Contains(t, ask(), `"ok":true`)
	g.shut.Store(true)
	require.Contains(t, ask(), `"code":"UNAUTHENTICATED"`)
}

func TestRecheckEndsWhatStaysOpenAndNothingElse(t *testing.T) {
	g := &gate{}
	began, release := make(chan struct{}, 1), make(chan struct{})
	source := newFeed("c0")
	s := &service{do: slowPrompt(began, release), subscribe: func(*api.SubscribeArgs) (server.Subscription, error) { return source, nil }}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	doors, address := server.New(s, server.Config{Readmit: g.readmit}), listener.Addr().String()
	served := make(chan error, 1)
	go func() { served <- doors.Serve(t.Context(), listener) }()

	conn, _, err := websocket.Dial(t.Context(), "ws://"+address+"/v1/ws", &websocket.DialOptions{Subprotocols: []string{api.Subprotocol}})
	require.NoError(t, err)
	defer func() { _ = conn.CloseNow() }()
	body := `{"op":"$prompt","args":{"targetKey":"k","text":"x"}}`
	waiting := rawhttp.Dial(t, address, fmt.Sprintf("POST /v1/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	<-began
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+address+"/v1/sessions/a/frames", nil)
	require.NoError(t, err)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	stream, err := transport.RoundTrip(r)
	require.NoError(t, err)
	defer stream.Body.Close()

	doors.Recheck()
	require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(`{"id":"1","op":"$ping"}`)))
	_, _, err = conn.Read(t.Context())
	require.NoError(t, err, "who is still let in stays")

	g.shut.Store(true)
	doors.Recheck()
	_, _, err = conn.Read(t.Context())
	require.Error(t, err)
	<-source.closed
	close(release)
	require.Equal(t, 200, waiting.Status(), "what was accepted is answered")
	send(t, "GET", "http://"+address+"/v1/sessions/a/frames", "").refused(t, 401, sessions.CodeUnauthenticated)
	require.NoError(t, doors.Shutdown(context.WithoutCancel(t.Context())))
	require.NoError(t, <-served)
}
