package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/server"
	"agenthost/sessions"
)

type emitFunc = func(sessions.Frame) error

// service answers with functions; those not given answer plainly.
type service struct {
	do        func(ctx context.Context, caller api.Caller, args any, emit emitFunc) (any, error)
	subscribe func(args *api.SubscribeArgs) (server.Subscription, error)
	ready     error
}

func (s *service) Do(ctx context.Context, caller api.Caller, args any, emit emitFunc) (any, error) {
	if s.do == nil {
		return api.PingResult{Time: 1}, nil
	}
	return s.do(ctx, caller, args, emit)
}

func (s *service) Subscribe(_ context.Context, _ api.Caller, args *api.SubscribeArgs) (server.Subscription, error) {
	return s.subscribe(args)
}

func (s *service) Ready(context.Context) error { return s.ready }

// feed is a subscription that gives what is put into it.
type feed struct {
	cursor sessions.Cursor
	frames chan sessions.Frame
	ended  chan *api.EndError
	closed chan struct{}
	once   sync.Once
}

func newFeed(cursor sessions.Cursor) *feed {
	return &feed{cursor: cursor, frames: make(chan sessions.Frame), ended: make(chan *api.EndError, 1), closed: make(chan struct{})}
}

func (f *feed) Cursor() sessions.Cursor { return f.cursor }

func (f *feed) Next(ctx context.Context) (sessions.Frame, error) {
	select {
	case frame := <-f.frames:
		return frame, nil
	case end := <-f.ended:
		return sessions.Frame{}, end
	case <-ctx.Done():
		return sessions.Frame{}, ctx.Err()
	}
}

func (f *feed) Close() { f.once.Do(func() { close(f.closed) }) }

// give hands a frame to the reader, or fails when the subscription is closed.
func (f *feed) give(t *testing.T, frame sessions.Frame) {
	t.Helper()
	select {
	case f.frames <- frame:
	case <-f.closed:
		t.Fatal("the subscription is closed")
	case <-t.Context().Done():
	}
}

// frame returns numbered frame seq of a turn.
func frame(seq int64, body sessions.FrameBody) sessions.Frame {
	return sessions.Frame{Seq: seq, Cursor: sessions.CursorAt(1, seq), TurnID: "t", RequestID: "r", At: 1, Body: body}
}

func textFrame(seq int64) sessions.Frame {
	return frame(seq, sessions.TextPart{Step: 1, Attempt: 1, Text: "x"})
}

func deltaFrame(text string) sessions.Frame {
	return sessions.Frame{TurnID: "t", Body: sessions.Delta{Step: 1, Attempt: 1, Text: text}}
}

// start serves s on a loopback port until the test ends.
func start(t *testing.T, s *service, config server.Config) (address string) {
	t.Helper()
	address, stop := startStoppable(t, s, config)
	t.Cleanup(func() { stop() })
	return address
}

func startStoppable(t *testing.T, s *service, config server.Config) (address string, stop func() error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return listener.Addr().String(), startOn(listener, s, config)
}

func startOn(listener net.Listener, s *service, config server.Config) (stop func() error) {
	if config.DrainFor == 0 {
		config.DrainFor = time.Millisecond // tests of the drain give their own
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.New(s, config).Serve(ctx, listener) }()
	return sync.OnceValue(func() error { cancel(); return <-served })
}

// answer is an HTTP response, read whole.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) reply(t *testing.T) api.Reply {
	t.Helper()
	var reply api.Reply
	require.NoError(t, json.Unmarshal([]byte(a.body), &reply), a.body)
	return reply
}

// refused asserts that a is the error envelope of code and returns its details.
func (a answer) refused(t *testing.T, status int, code sessions.Code) map[string]any {
	t.Helper()
	require.Equal(t, status, a.status, a.body)
	require.Equal(t, "application/json", a.header.Get("Content-Type"))
	reply := a.reply(t)
	require.False(t, reply.OK)
	require.NotNil(t, reply.Error, a.body)
	require.Equal(t, code, reply.Error.Code, a.body)
	require.NotEmpty(t, reply.Error.Message)
	return reply.Error.Details
}

func send(t *testing.T, method, url, body string, header ...string) answer {
	t.Helper()
	return sendFrom(t, method, url, strings.NewReader(body), header...)
}

func sendFrom(t *testing.T, method, url string, body io.Reader, header ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	return exchange(t, &http.Transport{DisableKeepAlives: true}, r)
}

func exchange(t *testing.T, by http.RoundTripper, r *http.Request) answer {
	t.Helper()
	response, err := by.RoundTrip(r)
	require.NoError(t, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answer{response.StatusCode, response.Header, string(data)}
}

func call(t *testing.T, address, body string, header ...string) answer {
	t.Helper()
	return send(t, "POST", "http://"+address+"/v1/call", body, header...)
}

// slowPrompt answers prompts once release is closed, having said that one began,
// and the rest at once.
func slowPrompt(began chan<- struct{}, release <-chan struct{}) func(context.Context, api.Caller, any, emitFunc) (any, error) {
	return func(ctx context.Context, _ api.Caller, args any, _ emitFunc) (any, error) {
		if _, prompt := args.(*api.PromptArgs); prompt {
			began <- struct{}{}
			select {
			case <-release:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return api.PingResult{}, nil
	}
}
