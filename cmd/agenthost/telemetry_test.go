package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A host shows its metrics at its address and on its socket, and its spans arrive
// at the collector of the configuration.
func TestServingHostIsMeasuredAndTraced(t *testing.T) {
	sent := make(chan []byte, 16)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && r.URL.Path == "/v1/traces" {
			sent <- body
		}
	}))
	defer collector.Close()
	socket, address := filepath.Join(t.TempDir(), "s"), freeAddress(t)
	stop := serving(t, "--db", filepath.Join(t.TempDir(), "a.db"), "--set", "tracing.endpoint="+collector.URL, "serve", "--listen", address, "--unix", socket)

	var out, complaints bytes.Buffer
	prompted := run(t.Context(), []string{"agenthost", "prompt", "--host", "http://" + address, "--target", "k", "xylophone"}, nil, nil, &out, &complaints)
	require.Equal(t, exitDone, prompted, complaints.String())
	for name, dial := range map[string]func(context.Context, string, string) (net.Conn, error){
		"tcp": new(net.Dialer).DialContext,
		"unix": func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	} {
		text := get(t, "http://"+address+"/metrics", dial)
		for _, line := range []string{
			`agenthost_prompts_total{outcome="accepted"} 1`, `agenthost_turns_ended_total{code="",status="completed"} 1`, `agenthost_unheard_deletes 0`,
		} {
			require.Contains(t, text, line+"\n", name)
		}
		require.Regexp(t, `agenthost_store_database_bytes [1-9]`, text)
		require.NotContains(t, text, "xylophone")
	}

	stop()
	close(sent)
	var spans []byte
	for body := range sent {
		spans = append(spans, body...)
	}
	for _, name := range []string{"prompt", "turn", "model call", "agenthost.session.id"} {
		require.Contains(t, string(spans), name)
	}
	require.NotContains(t, string(spans), "xylophone")
}

// serving runs the command, which is to serve, until stop is called.
func serving(t *testing.T, args ...string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	var stderr bytes.Buffer
	greeted, stdout := io.Pipe()
	go func() {
		code <- run(ctx, append([]string{"agenthost"}, args...), nil, nil, stdout, &stderr)
		_ = stdout.Close() // a pipe's end always closes
	}()
	_, err := greeted.Read(make([]byte, 1))
	require.NoError(t, err, "it says where it listens")
	go func() { _, _ = io.Copy(io.Discard, greeted) }() // ends with the host
	stop = sync.OnceFunc(func() {
		cancel()
		require.Equal(t, exitDone, <-code, stderr.String())
	})
	t.Cleanup(stop)
	return stop
}

// get asks for a page over a connection of its own.
func get(t *testing.T, url string, dial func(context.Context, string, string) (net.Conn, error)) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	answer, err := (&http.Transport{DialContext: dial, DisableKeepAlives: true}).RoundTrip(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	return string(text)
}
