package agentsv1

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// follower reads a stream of events as it comes.
type follower struct {
	w        *world
	body     io.ReadCloser
	in       *bufio.Reader
	cancel   context.CancelFunc
	comments int // that came after the first
}

// attach opens a stream behind an event, "" for now on. It ends with the test.
func (w *world) attach(id, last string) *follower {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	w.t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/v1/agents/sessions/"+id+"/events", nil)
	require.NoError(w.t, err)
	request.Header.Set("OpenAI-Beta", "agents=v1")
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = response.Body.Close() })
	require.Equal(w.t, 200, response.StatusCode)
	require.Equal(w.t, "text/event-stream", response.Header.Get("Content-Type"))
	f := &follower{w: w, body: response.Body, in: bufio.NewReader(response.Body), cancel: cancel}
	line, err := f.in.ReadString('\n')
	require.NoError(w.t, err)
	require.Equal(w.t, ": connected\n", line)
	return f
}

// next waits for the next event; ok is false when the stream has ended, which it has
// to do cleanly.
func (f *follower) next() (e seen, ok bool) {
	f.w.t.Helper()
	for {
		line, err := f.in.ReadString('\n')
		if err != nil {
			require.ErrorIs(f.w.t, err, io.EOF)
			return seen{}, false
		}
		switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); name {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			if value != "" {
				f.comments++
			} else if e.data != "" {
				return e, true
			}
		}
	}
}

// until reads up to an event of a name.
func (f *follower) until(name string) (all []seen) {
	f.w.t.Helper()
	for {
		e, ok := f.next()
		require.True(f.w.t, ok, "the stream ended before %s; it had %v", name, names(all))
		if all = append(all, e); e.name == name {
			return all
		}
	}
}

// close hangs up.
func (f *follower) close() {
	f.cancel()
	_ = f.body.Close()
}

// names are those of events.
func names(events []seen) (all []string) {
	for _, e := range events {
		all = append(all, strings.TrimPrefix(e.name, "agent.session."))
	}
	return all
}

// ids are those of events.
func ids(events []seen) (all []string) {
	for _, e := range events {
		all = append(all, e.id)
	}
	return all
}

// deltas is the text that events have brought piece by piece.
func deltas(events []seen) string {
	var text strings.Builder
	for _, e := range events {
		text.WriteString(gjson.Get(e.data, "delta").String())
	}
	return text.String()
}
