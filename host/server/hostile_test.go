package server_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/server"
	"agenthost/sessions"
	"agenthost/tests/rawhttp"
)

const ping = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

func TestHugeHeadersAreRefused(t *testing.T) {
	address := start(t, &service{}, server.Config{})
	conn := rawhttp.Dial(t, address, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
	for range 100 { // until it takes no more
		if _, err := io.WriteString(conn, "X-Fill: "+strings.Repeat("x", 1024)+"\r\n"); err != nil {
			break
		}
	}
	require.Contains(t, []int{0, 431}, conn.Status(), "refused, or cut off while it still sends")
	require.Equal(t, 200, rawhttp.Dial(t, address, ping).Status(), "others are served")
}

func TestBodiesThatDoNotComeAreGivenUp(t *testing.T) {
	address := start(t, &service{}, server.Config{BodyTimeout: 10 * time.Millisecond})
	conn := rawhttp.Dial(t, address, "POST /v1/call HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	require.Equal(t, 400, conn.Status())
	require.True(t, conn.Closed())
}

// A body that nobody reads is waited for no longer than one that somebody reads,
// whatever it is refused for.
func TestBodiesThatNobodyReadsAreGivenUp(t *testing.T) {
	closed := func(*http.Request) (api.Caller, error) {
		return api.Caller{}, sessions.Errorf(sessions.CodeUnauthenticated, "A key is needed.")
	}
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"no such path":      {rawhttp.Request("POST", "/nowhere", "", "Content-Length: 100"), 404},
		"no such method":    {rawhttp.Request("POST", "/healthz", "", "Content-Length: 100"), 405},
		"a read with one":   {rawhttp.Request("GET", "/healthz", "", "Content-Length: 100"), 200},
		"in chunks":         {rawhttp.Request("GET", "/healthz", "", "Transfer-Encoding: chunked"), 200},
		"another origin":    {rawhttp.Request("POST", "/v1/call", "", "Content-Length: 100", "Origin: http://evil.example"), 403},
		"no key":            {rawhttp.Request("POST", "/v1/call", "", "Content-Length: 100"), 401},
		"no key, announced": {rawhttp.Request("POST", "/v1/call", "", "Content-Length: 100", "Expect: 100-continue"), 401},
		"the last request":  {rawhttp.Request("POST", "/v1/call", "", "Content-Length: 100", "Connection: close"), 401},
	} {
		t.Run(name, func(t *testing.T) {
			address := start(t, &service{}, server.Config{BodyTimeout: 10 * time.Millisecond, Authenticate: closed})
			conn := rawhttp.Dial(t, address, c.request)
			require.Equal(t, c.status, conn.Status())
			require.True(t, conn.Closed())
		})
	}
}

// What net/http refuses by itself is not waited for either.
func TestBodiesOfWishesThatNobodyHasAreGivenUp(t *testing.T) {
	t.Parallel() // it takes the time that a header has
	address := start(t, &service{}, server.Config{BodyTimeout: 10 * time.Millisecond})
	conn := rawhttp.Dial(t, address, rawhttp.Request("POST", "/v1/call", "", "Content-Length: 100", "Expect: the moon"))
	require.Equal(t, 417, conn.Status())
	require.True(t, conn.Closed())
}

// A stream whose request has a body outlives the time that the body has.
func TestStreamsOutliveTheirBodies(t *testing.T) {
	source := newFeed("c5")
	address := start(t, &service{subscribe: func(*api.SubscribeArgs) (server.Subscription, error) { return source, nil }},
		server.Config{BodyTimeout: 50 * time.Millisecond})
	conn := rawhttp.Dial(t, address, rawhttp.Request("GET", "/v1/sessions/a/frames", "body"))
	status, _ := conn.Head()
	require.Equal(t, 200, status)
	<-time.After(100 * time.Millisecond)
	source.give(t, textFrame(6))
}

// Who closes their half of a connection is taken for gone, and is told so.
func TestWhoHasHungUpIsTold(t *testing.T) {
	address := start(t, &service{do: func(ctx context.Context, _ api.Caller, _ any, _ emitFunc) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}, server.Config{})
	for _, accept := range []string{"application/json", "text/event-stream"} {
		conn := rawhttp.Dial(t, address, rawhttp.Request("POST", "/v1/call", `{"op":"$ping"}`, "Accept: "+accept))
		require.NoError(t, conn.CloseWrite())
		a := conn.Answer()
		require.Equal(t, 499, a.Status)
		require.Contains(t, a.Body, `"code":"CANCELLED"`)
	}
}

func TestNonsenseIsNoFault(t *testing.T) {
	address := start(t, &service{}, server.Config{})
	for _, text := range []string{
		"\x16\x03\x01\x00\xa5\x01\x00\x00", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET\r\n\r\n", "\r\n\r\n\r\n\r\n\r\n",
		"GET /healthz HTTP/1.1\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: y\r\n\r\n",
		"POST /v1/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
		"POST /v1/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"GET /v1/sessions/%2e%2e%2f%2e%2e/frames HTTP/1.1\r\nHost: localhost\r\nOrigin: http://x%\r\n\r\n",
		"GET /v1/sessions/a/frames?after=%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET http://elsewhere.example/v1/../healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		conn := rawhttp.Dial(t, address, text)
		require.NoError(t, conn.CloseWrite())
		require.Less(t, conn.Status(), 500, "%q", text)
	}
	require.Equal(t, 200, rawhttp.Dial(t, address, ping).Status())
}

func TestIdleConnectionsMakeRoom(t *testing.T) {
	const limit = 4
	address := start(t, &service{}, server.Config{Limits: sessions.Limits{Connections: limit}})
	first := rawhttp.Dial(t, address, ping)
	require.Equal(t, 200, first.Status())
	for i := range 5 * limit {
		require.Equal(t, 200, rawhttp.Dial(t, address, ping).Status(), "connection %d of a crowd that stays", i)
	}
	require.True(t, first.Closed(), "the one that waited the longest was closed")
}

func TestConnectionsAtWorkAreNotDropped(t *testing.T) {
	const limit = 2
	began, release := make(chan struct{}, limit), make(chan struct{})
	address := start(t, &service{do: slowPrompt(began, release)}, server.Config{Limits: sessions.Limits{Connections: limit}})
	body := `{"op":"$prompt","args":{"targetKey":"k","text":"x"}}`
	request := fmt.Sprintf("POST /v1/call HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	working := []*rawhttp.Conn{rawhttp.Dial(t, address, request), rawhttp.Dial(t, address, request)}
	for range working {
		<-began
	}
	conn := rawhttp.Dial(t, address, "")
	require.True(t, conn.Closed(), "there is no room")
	close(release)
	for _, conn := range working {
		require.Equal(t, 200, conn.Status())
	}
	require.Equal(t, 200, rawhttp.Dial(t, address, ping).Status(), "there is room again")
}

func TestTLS(t *testing.T) {
	issued := httptest.NewUnstartedServer(nil)
	issued.StartTLS()
	defer issued.Close()
	roots := x509.NewCertPool()
	roots.AddCert(issued.Certificate())
	address := start(t, &service{}, server.Config{
		TLS:    &tls.Config{Certificates: issued.TLS.Certificates, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12},
		Limits: sessions.Limits{Connections: 2},
	})
	for range 5 {
		conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
		require.NoError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, ping)
		require.NoError(t, err)
		require.Equal(t, 200, rawhttp.Over(conn).Status())
	}
	require.Equal(t, 400, rawhttp.Dial(t, address, ping).Status(), "without TLS")
}

// A large answer over a slow line is written for as long as some of it is taken.
func TestSlowReadersOfLargeAnswersAreNotCutOff(t *testing.T) {
	text := strings.Repeat("x", 8<<20)
	address := start(t, streaming(func(emit emitFunc) (any, error) {
		return api.PromptResult{}, emit(frame(1, sessions.TextPart{Text: text}))
	}), server.Config{StallAfter: 200 * time.Millisecond})
	conn := rawhttp.Dial(t, address, rawhttp.Request("POST", "/v1/call", promptEnvelope, "Accept: text/event-stream", "Connection: close"))
	began, read := time.Now(), 0
	for piece := make([]byte, 64<<10); ; <-time.After(10 * time.Millisecond) {
		n, err := conn.Read(piece)
		if read += n; err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
	}
	require.Greater(t, read, len(text))
	require.Greater(t, time.Since(began), 200*time.Millisecond, "it was slow enough")
}
