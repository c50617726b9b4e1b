package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host/server"
	"agenthost/sessions"
)

func TestStoppingLetsCallsEnd(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	address, stop := startStoppable(t, &service{do: slowPrompt(began, release)}, server.Config{DrainFor: time.Minute})
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	writePrompt(t, conn)
	<-began
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	for refusesConnections := false; !refusesConnections; {
		conn, err := net.Dial("tcp", address)
		refusesConnections = err != nil
		if err == nil {
			require.NoError(t, conn.Close())
		}
	}
	close(release)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, 200, response.StatusCode)
	require.NoError(t, <-stopped)
}

// writePrompt begins a call whose answer is not waited for.
func writePrompt(t *testing.T, w io.Writer) {
	t.Helper()
	_, err := fmt.Fprintf(w, "POST /v1/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(promptEnvelope), promptEnvelope)
	require.NoError(t, err)
}

func TestStoppingCutsCallsThatDoNotEnd(t *testing.T) {
	began := make(chan struct{})
	s := server.New(&service{do: slowPrompt(began, nil)}, server.Config{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background(), listener) }()
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	writePrompt(t, conn)
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Shutdown(ctx), context.Canceled)
	require.NoError(t, <-served)
	require.NoError(t, s.Shutdown(t.Context()), "nothing is left")
}

func TestServeAfterShutdown(t *testing.T) {
	s := server.New(&service{}, server.Config{})
	require.NoError(t, s.Shutdown(t.Context()))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.Equal(t, sessions.CodeHostStopping, sessions.CodeOf(s.Serve(t.Context(), listener)))
	_, err = listener.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}

func TestServeOfABrokenListener(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	require.ErrorIs(t, server.New(&service{}, server.Config{}).Serve(t.Context(), listener), net.ErrClosed)
}

func TestOneEndStopsAllListeners(t *testing.T) {
	s := server.New(&service{}, server.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 2)
	for range 2 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		go func() { served <- s.Serve(ctx, listener) }()
		require.Equal(t, 200, send(t, "GET", "http://"+listener.Addr().String()+"/healthz", "").status)
	}
	cancel()
	require.NoError(t, <-served)
	require.NoError(t, <-served)
}

func TestOptionsOfNothingIsAnsweredLikeOtherPaths(t *testing.T) {
	address, stop := startStoppable(t, &service{}, server.Config{})
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Contains(t, string(answer), "404 Not Found")
	require.Contains(t, string(answer), `"code":"NOT_FOUND"`)
	require.NoError(t, stop())
}
