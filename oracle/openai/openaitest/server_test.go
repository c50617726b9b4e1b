package openaitest_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/oracle/openai/openaitest"
)

// spy is a test whose errors are kept instead of failing it.
type spy struct {
	testing.TB
	mu     sync.Mutex
	errors []string
}

func (s *spy) Errorf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errors = append(s.errors, fmt.Sprintf(format, args...))
}

func (s *spy) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.errors
}

func post(t *testing.T, url string, body []byte) (status int, text string, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return response.StatusCode, string(data), err
}

func TestServerPlaysItsScriptByteForByte(t *testing.T) {
	cut := openaitest.Stream(openaitest.Delta("a"))
	cut.End = openaitest.Cut
	server := openaitest.New(t,
		openaitest.Reply{Pieces: []openaitest.Piece{{Data: "data: 1"}, {After: time.Millisecond, Data: "\n\n"}, {Data: openaitest.Done}}},
		openaitest.Failure(429, "later").With("Retry-After", "1"), cut)
	url := server.BaseURL() + "/chat/completions"

	status, text, err := post(t, url, body(user, ""))
	require.NoError(t, err)
	require.Equal(t, 200, status)
	require.Equal(t, "data: 1\n\ndata: [DONE]\n\n", text)

	status, text, err = post(t, url, body(user, ""))
	require.NoError(t, err)
	require.Equal(t, 429, status)
	require.JSONEq(t, `{"error":{"message":"later","type":"some_error","param":null,"code":null}}`, text)

	_, text, err = post(t, url, body(user, ""))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, openaitest.Delta("a"), text)
	require.NoError(t, server.Await(t.Context(), 3))
	require.Equal(t, body(user, ""), server.Requests()[2].Body)
}

func TestServerFailsItsTest(t *testing.T) {
	s := &spy{TB: t}
	server := openaitest.New(s, openaitest.Text("once"), openaitest.Text("twice"))
	url := server.BaseURL() + "/chat/completions"

	status, _, err := post(t, url, body(calls, ""))
	require.NoError(t, err)
	require.Equal(t, 400, status)
	require.Len(t, s.seen(), 1)
	require.Contains(t, s.seen()[0], "request 1 is invalid")

	status, text, err := post(t, url, body(user, ""))
	require.NoError(t, err)
	require.Equal(t, 200, status)
	require.Contains(t, text, "twice")

	_, _, err = post(t, url, body(user, ""))
	require.NoError(t, err)
	require.Contains(t, s.seen()[1], "beyond the script")
	status, _, err = post(t, server.BaseURL()+"/models", nil)
	require.NoError(t, err)
	require.Equal(t, 404, status)
	require.Len(t, s.seen(), 3)
}
