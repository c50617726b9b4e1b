package providertest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/oracle/provider/providertest"
)

// api is a format of which only "good" is a valid request.
var api = providertest.API{
	Base: "/base", Path: "/ask",
	Validate: func(body []byte) error {
		if string(body) != "good" {
			return errors.New("not good")
		}
		return nil
	},
	Failure: func(status int, message string) providertest.Reply {
		return providertest.JSON(status, providertest.Quote(message))
	},
}

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
	cut := providertest.Stream("data: a\n\n")
	cut.End = providertest.Cut
	server := providertest.New(t, api,
		providertest.Reply{Pieces: []providertest.Piece{{Data: "data: 1"}, {After: time.Millisecond, Data: "\n\n"}, {Data: "data: [DONE]\n\n"}}},
		providertest.JSON(429, `{"error":"later"}`).With("Retry-After", "1"), cut)
	url := server.BaseURL() + "/ask"

	status, text, err := post(t, url, []byte("good"))
	require.NoError(t, err)
	require.Equal(t, 200, status)
	require.Equal(t, "data: 1\n\ndata: [DONE]\n\n", text)

	status, text, err = post(t, url, []byte("good"))
	require.NoError(t, err)
	require.Equal(t, 429, status)
	require.JSONEq(t, `{"error":"later"}`, text)

	_, text, err = post(t, url, []byte("good"))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, "data: a\n\n", text)
	require.NoError(t, server.Await(t.Context(), 3))
	require.Equal(t, []byte("good"), server.Requests()[2].Body)
}

func TestServerFailsItsTest(t *testing.T) {
	s := &spy{TB: t}
	server := providertest.New(s, api, providertest.Stream("once"), providertest.Stream("twice"))
	url := server.BaseURL() + "/ask"

	status, _, err := post(t, url, []byte("bad"))
	require.NoError(t, err)
	require.Equal(t, 400, status)
	require.Len(t, s.seen(), 1)
	require.Contains(t, s.seen()[0], "request 1 is invalid")

	status, text, err := post(t, url, []byte("good"))
	require.NoError(t, err)
	require.Equal(t, 200, status)
	require.Contains(t, text, "twice")

	_, _, err = post(t, url, []byte("good"))
	require.NoError(t, err)
	require.Contains(t, s.seen()[1], "beyond the script")
	status, _, err = post(t, server.BaseURL()+"/models", nil)
	require.NoError(t, err)
	require.Equal(t, 404, status)
	require.Len(t, s.seen(), 3)
}
