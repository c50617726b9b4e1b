package adaptertest

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/oracle/provider"
	"agenthost/oracle/provider/providertest"
)

// broken are streams that break after the given events.
func (a Adapter) broken(events []string) map[string]providertest.Reply {
	cut, half := providertest.Stream(events...), providertest.Stream(slices.Concat(events, []string{a.Half})...)
	cut.End, half.End = providertest.Cut, providertest.Cut
	replies := map[string]providertest.Reply{
		"connection cut":  cut,
		"cut in an event": half,
		"early end":       providertest.Stream(events...),
		"error event":     providertest.Stream(slices.Concat(events, []string{a.Error("overloaded")})...),
	}
	for name, event := range a.Broken {
		replies[name] = providertest.Stream(slices.Concat(events, []string{event})...)
	}
	return replies
}

func testBreakAfterText(t *testing.T, a Adapter) {
	said := slices.Concat(a.Start, a.Say("I can"))
	for name, reply := range a.broken(said) {
		got, server := a.Ask(t, reply)
		require.Equal(t, "I can", got.Text, name)
		got.RequireFailure(t, "")
		require.Len(t, server.Requests(), 1, name)
	}
	got, _ := a.Ask(t, providertest.Stream(slices.Concat(said, []string{a.Error("overloaded by " + Key)})...))
	got.RequireFailure(t, "overloaded by [key]")
}

func testBreakBefore(t *testing.T, a Adapter) {
	for name, reply := range a.broken(slices.Concat(a.Start, []string{a.Call(0), a.Args(0, "{")})) {
		got, server := a.Ask(t, reply, a.Text("fine"))
		require.NoError(t, got.Err, name)
		require.Equal(t, "fine", got.Text, name)
		require.Empty(t, got.Calls, name)
		require.Len(t, server.Requests(), 2, name)
		require.Equal(t, server.Requests()[0].Body, server.Requests()[1].Body, name)
	}
}

func testEmpty(t *testing.T, a Adapter) {
	got, _ := a.Ask(t, a.Text(), a.Text("fine"))
	require.NoError(t, got.Err)
	require.Equal(t, "fine", got.Text)

	got, server := a.Ask(t, a.Text(), a.Text(""))
	got.RequireFailure(t, "")
	require.Len(t, server.Requests(), 2)
}

func testPassingStatuses(t *testing.T, a Adapter) {
	for _, status := range []int{408, 409, 429, 500, 502, 503, 529} {
		got, server := a.Ask(t, a.API.Failure(status, "busy"), a.Text("fine"))
		require.NoError(t, got.Err, status)
		require.Equal(t, "fine", got.Text, status)
		require.Len(t, server.Requests(), 2, status)
	}
}

func testRetriesEnd(t *testing.T, a Adapter) {
	busy := a.API.Failure(503, "busy with "+Key)
	got, server := a.Ask(t, busy, busy, busy, busy)
	got.RequireFailure(t, "busy with [key]")
	require.Len(t, server.Requests(), 4)

	server = a.Server(t, providertest.Reply{Status: 502, Body: "<html>Bad gateway</html>"})
	never := a.Oracle(t, server, func(c *provider.Config) { c.MaxRetries = -1 })
	Infer(t.Context(), never, Hi()).RequireFailure(t, "Bad gateway")
	require.Len(t, server.Requests(), 1)
}

func testOtherStatuses(t *testing.T, a Adapter) {
	for _, status := range []int{400, 401, 403, 404, 422} {
		got, server := a.Ask(t, a.API.Failure(status, "Incorrect API key provided: "+Key))
		got.RequireFailure(t, "Incorrect API key provided: [key]")
		require.Len(t, server.Requests(), 1, status)
	}
}

func testNoServer(t *testing.T, a Adapter) {
	o := a.Oracle(t, a.Server(t), func(c *provider.Config) { c.BaseURL = "http://127.0.0.1:1" + a.API.Base })
	Infer(t.Context(), o, Hi()).RequireFailure(t, "127.0.0.1:1")
}

// transport answers with statuses and their Retry-After, then with an answer.
type transport struct {
	answer string
	waits  []string
	at     []time.Time
}

func (f *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	f.at = append(f.at, time.Now())
	body := f.answer
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

func testWaits(t *testing.T, a Adapter) {
	synctest.Test(t, func(t *testing.T) {
		date := time.Now().Add(12 * time.Second).UTC().Format(http.TimeFormat)
		f := &transport{answer: bytesOf(a.Text("fine")), waits: []string{"2", date, "3600", "", ""}}
		o, err := a.New(provider.Config{Model: "m", APIKey: Key, MaxRetries: 5, HTTPClient: &http.Client{Transport: f}})
		require.NoError(t, err)
		require.Equal(t, "fine", Infer(t.Context(), o, Hi()).Text)
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

func testContextEndsPause(t *testing.T, a Adapter) {
	synctest.Test(t, func(t *testing.T) {
		f := &transport{answer: bytesOf(a.Text("fine")), waits: []string{"20"}}
		o, err := a.New(provider.Config{Model: "m", APIKey: Key, HTTPClient: &http.Client{Transport: f}})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, Infer(ctx, o, Hi()).Err, context.DeadlineExceeded)
	})
}
