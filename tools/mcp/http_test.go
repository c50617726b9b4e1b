package mcp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/tools/mcp"
	"agenthost/tools/mcp/mcptest"
)

// serveHTTP serves a handler until the test's servers are stopped.
func serveHTTP(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server
}

// proxy passes requests on to a server of the tests.
func proxy(w *web) http.Handler {
	p := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: w.address})
	p.Transport = &http.Transport{DisableKeepAlives: true}
	p.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	return p
}

func at(url string) mcp.Server {
	return mcp.Server{Name: "test", Mount: "/mcp/test", URL: url, Key: "hunter2"}
}

func TestKeyGoesWithEveryRequestToItsServerOnly(t *testing.T) {
	var elsewhere atomic.Value
	other := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		elsewhere.Store(r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusTeapot)
	}))
	inner := proxy(newWeb(t))
	var without atomic.Int64
	own := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer hunter2" {
			without.Add(1)
		}
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case "/":
			http.Redirect(w, r, "/mcp", http.StatusTemporaryRedirect)
		default:
			inner.ServeHTTP(w, r)
		}
	}))
	b := start(t, quick, at(own.URL+"/"))
	require.Equal(t, "hi", b.text("/mcp/test/echo", argsOf("text", "hi")), "a redirect within the server is followed")
	require.Zero(t, without.Load())
	b.servers.Stop()

	b = start(t, quick, at(own.URL+"/away"))
	require.Equal(t, []string{"test"}, b.servers.Missing())
	require.Equal(t, "", elsewhere.Load(), "the other server was asked, without the key")
	require.NotContains(t, b.log.String(), "hunter2")
}

// TestLostSessionIsSeenBehindAnAnswer: some servers answer for a session that they
// do not know with a JSON-RPC error, as if it were the call's.
func TestLostSessionIsSeenBehindAnAnswer(t *testing.T) {
	w := newWeb(t)
	inner := proxy(w)
	server := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		held := &late{ResponseWriter: w}
		inner.ServeHTTP(held, r)
		if held.status == http.StatusNotFound {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"Session not found"}}`)
		}
	}))
	b := start(t, quick, at(server.URL))
	require.Equal(t, "before", b.text("/mcp/test/echo", argsOf("text", "before")))
	w.kill()
	w.up()
	require.Equal(t, "after", b.text("/mcp/test/echo", argsOf("text", "after")))
}

// late keeps back a response that says 404.
type late struct {
	http.ResponseWriter
	status int
}

// WriteHeader notes the status.
func (l *late) WriteHeader(status int) {
	if l.status = status; status != http.StatusNotFound {
		l.ResponseWriter.WriteHeader(status)
	}
}

// Write drops the body of a 404.
func (l *late) Write(b []byte) (int, error) {
	if l.status == http.StatusNotFound {
		return len(b), nil
	}
	return l.ResponseWriter.Write(b)
}

// Flush flushes what is not kept back.
func (l *late) Flush() {
	if l.status != http.StatusNotFound {
		l.ResponseWriter.(http.Flusher).Flush()
	}
}

// TestServerOfTheNewHandshakeOnly: a server may refuse the old handshake.
func TestServerOfTheNewHandshakeOnly(t *testing.T) {
	inner := proxy(newWeb(t, mcptest.Stateless))
	server := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request struct {
			ID     json.RawMessage
			Method string
		}
		if err == nil && json.Unmarshal(body, &request) == nil && request.Method == "initialize" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, request.ID)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		inner.ServeHTTP(w, r)
	}))
	b := start(t, quick, at(server.URL))
	require.Equal(t, "hi", b.text("/mcp/test/echo", argsOf("text", "hi")))
	b.text("/mcp/test/add", argsOf("text", "new"))
	b.mounts("/mcp/test/new", true)
}
