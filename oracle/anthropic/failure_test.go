package anthropic_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/oracle"
	"agenthost/oracle/anthropic"
	"agenthost/oracle/anthropic/anthropictest"
)

func cut(events ...string) anthropictest.Reply {
	r := anthropictest.Stream(events...)
	r.End = anthropictest.Cut
	return r
}

// broken are streams that break after the given events.
func broken(events ...string) map[string]anthropictest.Reply {
	return map[string]anthropictest.Reply{
		"overloaded":         anthropictest.Stream(append(events, anthropictest.Error("overloaded_error", "overloaded"))...),
		"event without name": anthropictest.Stream(append(events, "data: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"m\"}}\n\n")...),
		"error of no JSON":   anthropictest.Stream(append(events, "event: error\ndata: overloaded\n\n")...),
		"connection cut":     cut(events...),
		"cut in an event":    cut(append(events, `data: {"type":"content_bl`)...),
		"early end":          anthropictest.Stream(events...),
		"no JSON":            anthropictest.Stream(append(events, anthropictest.Event("content_block_delta", `<html>`))...),
	}
}

func TestAStreamThatBreaksAfterTextFailsTheCall(t *testing.T) {
	said := []string{anthropictest.Start(1, 0, 0), anthropictest.TextBlock(0), anthropictest.Delta(0, "I can")}
	for name, reply := range broken(said...) {
		a, server := ask(t, reply)
		require.Equal(t, "I can", a.text, name)
		requireFailure(t, a, "")
		require.Len(t, server.Requests(), 1, name)
	}
	a, _ := ask(t, anthropictest.Stream(append(said, anthropictest.Error("overloaded_error", "overloaded by "+key))...))
	requireFailure(t, a, "overloaded by [key]")
}

func TestAStreamThatBreaksBeforeItsFirstPartIsRetried(t *testing.T) {
	opening := []string{anthropictest.Start(1, 0, 0), anthropictest.Ping, anthropictest.CallBlock(0, "a", "x"), anthropictest.ArgsDelta(0, "{")}
	for name, reply := range broken(opening...) {
		a, server := ask(t, reply, anthropictest.Text("fine"))
		require.NoError(t, a.err, name)
		require.Equal(t, "fine", a.text, name)
		require.Empty(t, a.calls, name)
		require.Len(t, server.Requests(), 2, name)
		require.Equal(t, server.Requests()[0].Body, server.Requests()[1].Body, name)
	}
}

func TestAnEmptyAnswerIsRetriedOnce(t *testing.T) {
	a, _ := ask(t, anthropictest.Text(), anthropictest.Text("fine"))
	require.NoError(t, a.err)
	require.Equal(t, "fine", a.text)

	a, server := ask(t, anthropictest.Text(), anthropictest.Text(""))
	requireFailure(t, a, "")
	require.Len(t, server.Requests(), 2)
}

func TestPassingStatusesAreRetried(t *testing.T) {
	for _, status := range []int{408, 409, 429, 500, 502, 503, 529} {
		a, server := ask(t, anthropictest.Failure(status, "busy"), anthropictest.Text("fine"))
		require.NoError(t, a.err, status)
		require.Equal(t, "fine", a.text, status)
		require.Len(t, server.Requests(), 2, status)
	}
}

func TestRetriesEnd(t *testing.T) {
	busy := anthropictest.Failure(503, "busy with "+key)
	a, server := ask(t, busy, busy, busy, busy)
	requireFailure(t, a, "busy with [key]")
	require.Len(t, server.Requests(), 4)

	html := anthropictest.Reply{Status: 502, Body: "<html>Bad gateway</html>"}
	server = anthropictest.New(t, html)
	never := configured(t, server, func(c *anthropic.Config) { c.MaxRetries = -1 })
	requireFailure(t, infer(t.Context(), never, hi()), "Bad gateway")
	require.Len(t, server.Requests(), 1)
}

func TestOtherStatusesAreNotRetried(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404, 422} {
		a, server := ask(t, anthropictest.Failure(status, "Incorrect API key provided: "+key))
		requireFailure(t, a, "Incorrect API key provided: [key]")
		require.Len(t, server.Requests(), 1, status)
	}
}

func TestAServerThatIsNotThereFailsTheCall(t *testing.T) {
	server := anthropictest.New(t)
	o := configured(t, server, func(c *anthropic.Config) { c.BaseURL = "http://127.0.0.1:1" })
	requireFailure(t, infer(t.Context(), o, hi()), "127.0.0.1:1")
}

// transport answers with statuses and their Retry-After, then with an answer.
type transport struct {
	waits []string
	at    []time.Time
}

func (f *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	f.at = append(f.at, time.Now())
	body := anthropictest.Delta(0, "fine") + anthropictest.Stop
	response := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r}
	if n := len(f.at) - 1; n < len(f.waits) {
		response.StatusCode, body = 429, "wait"
		if f.waits[n] != "" {
			response.Header.Set("Retry-After", f.waits[n])
		}
	}
	response.Body = io.NopCloser(strings.NewReader(body))
	return response, nil
}

func TestRetriesWaitAsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		date := time.Now().Add(12 * time.Second).UTC().Format(http.TimeFormat)
		f := &transport{waits: []string{"2", date, "3600", "", ""}}
		o, err := anthropic.New(anthropic.Config{Model: "m", APIKey: key, MaxRetries: 5, HTTPClient: &http.Client{Transport: f}})
		require.NoError(t, err)
		require.Equal(t, "fine", infer(t.Context(), o, hi()).text)
		require.Len(t, f.at, 6)
		require.Equal(t, 2*time.Second, f.at[1].Sub(f.at[0]))
		require.Equal(t, 10*time.Second, f.at[2].Sub(f.at[1]))
		require.Equal(t, 30*time.Second, f.at[3].Sub(f.at[2]), "a wish without end is bounded")
		for i, pause := range []time.Duration{4 * time.Second, 8 * time.Second} { // the fourth and fifth of 0.5 s, 1 s, 2 s …
			waited := f.at[4+i].Sub(f.at[3+i])
			require.GreaterOrEqual(t, waited, pause/2)
			require.LessOrEqual(t, waited, pause)
		}
	})
}

func TestTheContextEndsAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, err := anthropic.New(anthropic.Config{Model: "m", APIKey: key, HTTPClient: &http.Client{Transport: &transport{waits: []string{"20"}}}})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, infer(ctx, o, hi()).err, context.DeadlineExceeded)
	})
}

func TestTheContextEndsTheCallAndItsConnection(t *testing.T) {
	for name, events := range map[string][]string{"before text": nil, "after text": {anthropictest.Delta(0, "some")}} {
		gone := make(chan struct{})
		reply := anthropictest.Stream(events...)
		reply.End, reply.OnGone = anthropictest.Hang, func() { close(gone) }
		server := anthropictest.New(t, reply)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan answered)
		o := configured(t, server, nil)
		go func() { ended <- infer(ctx, o, hi()) }()
		require.NoError(t, server.Await(t.Context(), 1), name)
		cancel()
		require.ErrorIs(t, (<-ended).err, context.Canceled, name)
		<-gone
	}
}

func TestBreakingOffEndsTheConnection(t *testing.T) {
	gone := make(chan struct{})
	reply := anthropictest.Stream(anthropictest.Delta(0, "some"))
	reply.End, reply.OnGone = anthropictest.Hang, func() { close(gone) }
	server := anthropictest.New(t, reply)
	for part, err := range configured(t, server, nil).Infer(t.Context(), hi()) {
		require.NoError(t, err)
		require.Equal(t, oracle.TextDelta{Text: "some"}, part)
		break
	}
	<-gone
}

// A model that never ends its calls would fill the memory before any bound of
// the host could see them.
func TestCallsOfTooManyBytesFailTheCallAtOnce(t *testing.T) {
	piece := anthropictest.ArgsDelta(0, strings.Repeat("z", 1<<20))
	long := anthropictest.Stream(slices.Concat([]string{anthropictest.CallBlock(0, "a", "x")}, slices.Repeat([]string{piece}, 17))...)
	long.End = anthropictest.Hang
	var many []string
	for i := range 17 << 10 {
		many = append(many, anthropictest.CallBlock(i, fmt.Sprint("c", i), "x"))
	}
	countless := anthropictest.Stream(many...)
	countless.End = anthropictest.Hang
	for name, reply := range map[string]anthropictest.Reply{"long arguments": long, "many calls": countless} {
		a, server := ask(t, reply)
		requireFailure(t, a, "bytes")
		require.Empty(t, a.calls, name)
		require.Len(t, server.Requests(), 1, name)
	}
}
