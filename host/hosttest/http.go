package hosttest

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/sessions"
)

// Post makes a request of the HTTP door and returns status and reply.
func (h *Host) Post(op api.Op, args any) (int, api.Reply) {
	h.t.Helper()
	return h.PostRaw(envelope(h.t, nil, op, args))
}

// PostRaw does so with a body as it stands.
func (h *Host) PostRaw(body string) (int, api.Reply) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), Patience)
	defer cancel()
	response := h.do(ctx, http.MethodPost, "/v1/call", body, http.Header{"Content-Type": {"application/json"}})
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	require.NoError(h.t, err)
	var reply api.Reply
	require.NoError(h.t, json.Unmarshal(data, &reply), "%s", data)
	return response.StatusCode, reply
}

func (h *Host) do(ctx context.Context, method, path, body string, header http.Header) *http.Response {
	h.t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, h.URL+path, strings.NewReader(body))
	require.NoError(h.t, err)
	request.Header = header
	response, err := h.http.Do(request)
	require.NoError(h.t, err)
	return response
}

// Events is a stream of server-sent events.
type Events struct {
	Status int

	t      testing.TB
	lines  *bufio.Reader
	cancel context.CancelFunc
	body   io.Closer
}

// Event is one event; those without data, which only move the position, and
// comments are passed over.
type Event struct {
	Name string
	ID   string // the last one the stream gave
	Data string
}

// PostEvents makes a request of the HTTP door that is answered by events.
func (h *Host) PostEvents(op api.Op, args any) *Events {
	h.t.Helper()
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}}
	return h.events(http.MethodPost, "/v1/call", envelope(h.t, nil, op, args), header)
}

// FrameEvents subscribes to a session's frames over HTTP. lastID, unless "", is
// where to go on.
func (h *Host) FrameEvents(id sessions.SessionID, query, lastID string) *Events {
	h.t.Helper()
	header := http.Header{}
	if lastID != "" {
		header.Set("Last-Event-ID", lastID)
	}
	return h.events(http.MethodGet, "/v1/sessions/"+string(id)+"/frames"+query, "", header)
}

func (h *Host) events(method, path, body string, header http.Header) *Events {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), Patience)
	response := h.do(ctx, method, path, body, header) //nolint:bodyclose // Close closes it
	e := &Events{Status: response.StatusCode, t: h.t, lines: bufio.NewReader(response.Body), cancel: cancel, body: response.Body}
	h.t.Cleanup(e.Close)
	return e
}

// Next returns the next event; ok is false at the end of the stream.
func (e *Events) Next() (event Event, ok bool) {
	e.t.Helper()
	for {
		line, err := e.lines.ReadString('\n')
		if err == io.EOF {
			return event, false
		}
		require.NoError(e.t, err)
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case name == "event":
			event.Name = value
		case name == "id":
			event.ID = value
		case name == "data":
			event.Data = value
		case line == "\n" && event.Data != "":
			return event, true
		}
	}
}

// Rest returns the events that remain.
func (e *Events) Rest() []Event {
	e.t.Helper()
	var all []Event
	for {
		event, ok := e.Next()
		if !ok {
			return all
		}
		all = append(all, event)
	}
}

// Body returns what remains of an answer that is no stream of events.
func (e *Events) Body() string {
	e.t.Helper()
	data, err := io.ReadAll(e.lines)
	require.NoError(e.t, err)
	return string(data)
}

// Close ends the stream.
func (e *Events) Close() {
	e.cancel()
	_ = e.body.Close() // a stream given up is given up
}

// Frame decodes the frame that an event carries.
func (e Event) Frame(t testing.TB) sessions.Frame {
	t.Helper()
	var frame sessions.Frame
	require.NoError(t, json.Unmarshal([]byte(e.Data), &frame))
	return frame
}
