package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The Agents API of a serving host knows the keys that the command has made.
func TestCase52TheAgentsAPIKnowsTheKeysOfTheCommand(t *testing.T) {
	db, socket, address := filepath.Join(t.TempDir(), "a.db"), filepath.Join(t.TempDir(), "s"), freeAddress(t)
	key := func(args ...string) string {
		var out, complaints bytes.Buffer
		code := run(t.Context(), append([]string{"agenthost", "--db", db, "keys", "create"}, args...), []string{"AGENTHOST_LISTEN=" + address}, nil, &out, &complaints)
		require.Equal(t, exitDone, code, complaints.String())
		return strings.TrimSpace(out.String())
	}
	ann, bob, slow := key("--owner", "ann"), key("--owner", "bob"), key("--owner", "ann", "--rate", "1", "--burst", "1")
	serving(t, "--db", db, "serve", "--listen", address, "--unix", socket)
	overTCP := new(net.Dialer).DialContext
	overUnix := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	ask := func(dial func(context.Context, string, string) (net.Conn, error), key, method, path, body string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+"/v1/agents"+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("OpenAI-Beta", "agents=v1")
		r.Header.Set("Content-Type", "application/json")
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		answer, err := (&http.Transport{DialContext: dial, DisableKeepAlives: true}).RoundTrip(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(text)
	}
	status, text := ask(overTCP, "", "GET", "/sessions", "")
	require.Equal(t, http.StatusUnauthorized, status, text)
	status, text = ask(overTCP, ann, "POST", "/sessions", `{"environment":{"type":"none"},"agent":{"model":"default"}}`)
	require.Equal(t, http.StatusOK, status, text)
	var made struct {
		ID string `json:"id"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &made))
	for who, want := range map[string]int{ann: http.StatusOK, bob: http.StatusNotFound, "ahk_nobodys": http.StatusUnauthorized} {
		status, text = ask(overTCP, who, "GET", "/sessions/"+made.ID, "")
		require.Equal(t, want, status, text)
	}
	status, text = ask(overUnix, "", "GET", "/sessions/"+made.ID, "")
	require.Equal(t, http.StatusNotFound, status, "who is at home is the owner local: %s", text)
	status, text = ask(overUnix, ann, "GET", "/sessions/"+made.ID, "")
	require.Equal(t, http.StatusOK, status, text)
	require.Eventually(t, func() bool {
		status, text = ask(overTCP, slow, "GET", "/sessions", "")
		return status == http.StatusTooManyRequests
	}, patience, time.Millisecond)
	require.Contains(t, text, `"code":"rate_limit_exceeded"`)
}
