package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/server"
	"agenthost/sessions"
)

// event is one server-sent event, or a comment.
type event struct{ name, id, data string }

// eventReader reads a stream as browsers do.
type eventReader struct {
	lines *bufio.Scanner
	last  string // the id to come back with
}

func readEvents(r io.Reader) *eventReader {
	return &eventReader{lines: bufio.NewScanner(r)}
}

// next returns the next event that has data; ok is false at the end.
func (e *eventReader) next(t *testing.T) (event, bool) {
	t.Helper()
	var current event
	for e.lines.Scan() {
		line := e.lines.Text()
		field, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "" && current.data == "":
			current = event{}
		case line == "":
			return current, true
		case field == "event":
			current.name = value
		case field == "id":
			current.id, e.last = value, value
		case field == "data":
			current.data += value
		case line != ":":
			t.Fatalf("unexpected line %q", line)
		}
	}
	return event{}, false
}

func all(t *testing.T, body string) []event {
	t.Helper()
	reader := readEvents(strings.NewReader(body))
	var events []event
	for e, ok := reader.next(t); ok; e, ok = reader.next(t) {
		events = append(events, e)
	}
	return events
}

const promptEnvelope = `{"id":"7","op":"$prompt","args":{"sessionId":"a","text":"hi"}}`

func streaming(do func(emit emitFunc) (any, error)) *service {
	return &service{do: func(_ context.Context, _ api.Caller, _ any, emit emitFunc) (any, error) { return do(emit) }}
}

func TestCallStreamsFramesThenTheReply(t *testing.T) {
	address := start(t, &service{do: func(_ context.Context, _ api.Caller, args any, emit emitFunc) (any, error) {
		require.True(t, args.(*api.PromptArgs).Stream, "taking events asks for frames")
		for _, f := range []sessions.Frame{textFrame(1), deltaFrame("a\nb"), textFrame(2),
			{Body: sessions.Gap{From: 3, To: 4}}} {
			require.NoError(t, emit(f))
		}
		return api.PromptResult{Status: api.PromptCompleted, Iterations: 1}, nil
	}}, server.Config{})
	a := call(t, address, promptEnvelope, "Accept", "application/json;q=0.5, text/event-stream")
	require.Equal(t, 200, a.status)
	require.Equal(t, "text/event-stream", a.header.Get("Content-Type"))
	events := all(t, a.body)
	require.Len(t, events, 5)
	for i, want := range []event{{name: "frame", id: string(sessions.CursorAt(1, 1))}, {name: "delta"},
		{name: "frame", id: string(sessions.CursorAt(1, 2))}, {name: "frame"}, {name: "reply"}} {
		require.Equal(t, want.name, events[i].name)
		require.Equal(t, want.id, events[i].id)
	}
	var delta sessions.Frame
	require.NoError(t, json.Unmarshal([]byte(events[1].data), &delta))
	require.Equal(t, deltaFrame("a\nb"), delta)
	reply := answer{body: events[4].data}.reply(t)
	require.True(t, reply.OK)
	require.Equal(t, "7", *reply.ID)
}

func TestCallThatFailsBeforeItsFirstFrameHasItsStatus(t *testing.T) {
	address := start(t, streaming(func(emitFunc) (any, error) {
		return nil, sessions.Errorf(sessions.CodeAgentBusy, "Busy.")
	}), server.Config{})
	call(t, address, promptEnvelope, "Accept", "text/event-stream").refused(t, 409, sessions.CodeAgentBusy)
	call(t, address, `{"op":"$fly"}`, "Accept", "text/event-stream").refused(t, 400, sessions.CodeUnknownOp)
}

func TestCallThatFailsAfterAFrameSaysSoInItsReply(t *testing.T) {
	address := start(t, streaming(func(emit emitFunc) (any, error) {
		require.NoError(t, emit(textFrame(1)))
		panic("secret")
	}), server.Config{})
	a := call(t, address, promptEnvelope, "Accept", "text/event-stream")
	require.Equal(t, 200, a.status)
	require.NotContains(t, a.body, "secret")
	events := all(t, a.body)
	require.Equal(t, []string{"frame", "reply"}, []string{events[0].name, events[1].name})
	require.Equal(t, sessions.CodeInternal, answer{body: events[1].data}.reply(t).Error.Code)
}

func TestCallWithoutFramesStreamsItsReply(t *testing.T) {
	address := start(t, &service{}, server.Config{})
	events := all(t, call(t, address, `{"op":"$ping"}`, "Accept", "text/event-stream").body)
	require.Len(t, events, 1)
	require.Equal(t, "reply", events[0].name)
}

func TestRefusedEventsAreNotSent(t *testing.T) {
	address := start(t, &service{}, server.Config{})
	a := call(t, address, `{"op":"$ping"}`, "Accept", "text/event-stream;q=0, */*")
	require.Equal(t, "application/json", a.header.Get("Content-Type"))
}

func TestStreamsKeepAliveWithComments(t *testing.T) {
	release := make(chan struct{})
	address := start(t, streaming(func(emit emitFunc) (any, error) {
		require.NoError(t, emit(textFrame(1)))
		<-release
		return api.PromptResult{}, nil
	}), server.Config{CommentEvery: time.Millisecond})
	body := openStream(t, "POST", "http://"+address+"/v1/call", promptEnvelope)
	lines := bufio.NewScanner(body)
	for lines.Scan() && lines.Text() != ":" {
	}
	require.Equal(t, ":", lines.Text(), "a comment came")
	close(release)
}

func TestReaderOfAStreamThatStopsReadingIsCutOff(t *testing.T) {
	ended := make(chan error, 1)
	address := start(t, &service{do: func(ctx context.Context, _ api.Caller, _ any, emit emitFunc) (any, error) {
		var err error
		for err == nil {
			err = emit(frame(1, sessions.TextPart{Text: strings.Repeat("x", 1<<20)}))
		}
		<-ctx.Done() // whoever is cut off waits no longer
		ended <- err
		return nil, ctx.Err()
	}}, server.Config{StallAfter: 30 * time.Millisecond})
	openStream(t, "POST", "http://"+address+"/v1/call", promptEnvelope)
	require.Error(t, <-ended)
}

// openStream begins a request and returns the stream of its answer.
func openStream(t *testing.T, method, url, body string, header ...string) io.ReadCloser {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Accept", "text/event-stream")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(r)
	require.NoError(t, err)
	t.Cleanup(func() { response.Body.Close() })
	require.Equal(t, 200, response.StatusCode)
	require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	return response.Body
}

func TestFramesOfASession(t *testing.T) {
	source := newFeed("c5")
	asked := make(chan *api.SubscribeArgs, 1)
	address := start(t, &service{subscribe: func(args *api.SubscribeArgs) (server.Subscription, error) {
		asked <- args
		return source, nil
	}}, server.Config{})
	events := readEvents(openStream(t, "GET", "http://"+address+"/v1/sessions/a%3Ab/frames?after=c5", ""))
	require.Equal(t, &api.SubscribeArgs{Address: api.Address{SessionID: "a:b"}, After: "c5"}, <-asked)
	source.give(t, textFrame(6))
	e, ok := events.next(t)
	require.True(t, ok)
	require.Equal(t, "frame", e.name)
	require.Equal(t, string(sessions.CursorAt(1, 6)), e.id)
	source.give(t, deltaFrame("x"))
	e, _ = events.next(t)
	require.Equal(t, event{name: "delta", data: e.data}, e)
	source.ended <- &api.EndError{Reason: api.EndClosed, Cursor: "c7"}
	e, _ = events.next(t)
	require.Equal(t, event{name: "end", data: `{"reason":"closed","cursor":"c7"}`}, e)
	_, ok = events.next(t)
	require.False(t, ok)
	<-source.closed
}

func TestFramesGoOnWhereTheBrowserWas(t *testing.T) {
	source := newFeed("c9")
	asked := make(chan *api.SubscribeArgs, 1)
	address := start(t, &service{subscribe: func(args *api.SubscribeArgs) (server.Subscription, error) {
		asked <- args
		return source, nil
	}}, server.Config{})
	body := openStream(t, "GET", "http://"+address+"/v1/sessions/a/frames?after=c5", "", "Last-Event-ID", "c9")
	require.Equal(t, sessions.Cursor("c9"), (<-asked).After)
	lines := bufio.NewScanner(body)
	require.True(t, lines.Scan())
	require.Equal(t, "id: c9", lines.Text(), "there is an id to come back with before any frame")
	require.NoError(t, body.Close())
	<-source.closed
}

func TestFramesThatCannotBeOpened(t *testing.T) {
	address := start(t, &service{subscribe: func(*api.SubscribeArgs) (server.Subscription, error) {
		return nil, sessions.Errorf(sessions.CodeSessionNotFound, "No session has this address.")
	}}, server.Config{})
	url := "http://" + address + "/v1/sessions/a/frames"
	send(t, "GET", url, "").refused(t, 404, sessions.CodeSessionNotFound)
	require.Equal(t, "/colour", send(t, "GET", url+"?colour=1", "").refused(t, 400, sessions.CodeInvalidRequest)["field"])
	for _, query := range []string{"?after=a&after=b", "?after=", "?a;b", "?%zz"} {
		send(t, "GET", url+query, "").refused(t, 400, sessions.CodeInvalidRequest)
	}
}

func TestBrokenSubscriptionTellsWhereToGoOn(t *testing.T) {
	source := newFeed("c5")
	address := start(t, &service{subscribe: func(*api.SubscribeArgs) (server.Subscription, error) { return panicking{source}, nil }}, server.Config{})
	events := readEvents(openStream(t, "GET", "http://"+address+"/v1/sessions/a/frames", ""))
	source.give(t, textFrame(6))
	_, ok := events.next(t)
	require.True(t, ok)
	source.ended <- nil
	e, _ := events.next(t)
	require.Equal(t, event{name: "end", data: `{"reason":"slow","cursor":"` + string(sessions.CursorAt(1, 6)) + `"}`}, e)
	<-source.closed
}

// panicking panics at the end of its feed.
type panicking struct{ *feed }

func (p panicking) Next(ctx context.Context) (sessions.Frame, error) {
	f, err := p.feed.Next(ctx)
	if err != nil && ctx.Err() == nil {
		panic("secret")
	}
	return f, err
}

func TestStoppingEndsStreams(t *testing.T) {
	source := newFeed("c5")
	address, stop := startStoppable(t, &service{subscribe: func(*api.SubscribeArgs) (server.Subscription, error) { return source, nil }},
		server.Config{DrainFor: time.Minute})
	events := readEvents(openStream(t, "GET", "http://"+address+"/v1/sessions/a/frames", ""))
	source.give(t, textFrame(6))
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	for { // once the listener is closed the server is stopping
		conn, err := net.Dial("tcp", address)
		if err != nil {
			break
		}
		conn.Close()
	}
	source.ended <- &api.EndError{Reason: api.EndStopping, Cursor: "c6"}
	_, _ = events.next(t)
	e, _ := events.next(t)
	require.Equal(t, event{name: "end", data: `{"reason":"stopping","cursor":"c6"}`}, e)
	require.NoError(t, <-stopped)
}
