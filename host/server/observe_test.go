package server_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/server"
	"agenthost/sessions"
)

// ledger writes down what an observer hears.
type ledger struct {
	mu             sync.Mutex
	requests, done []string
}

func (l *ledger) Answered(door server.Door, status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests = append(l.requests, fmt.Sprintf("%s %d", door, status))
}

func (l *ledger) Done(op api.Op, code sessions.Code, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if took > 0 {
		l.done = append(l.done, fmt.Sprintf("%s %s", op, code))
	}
}

func TestObserverHearsOfEveryRequestAndOperation(t *testing.T) {
	seen := &ledger{}
	s := &service{do: func(_ context.Context, _ api.Caller, args any, _ emitFunc) (any, error) {
		if _, is := args.(*api.TurnArgs); is {
			return nil, sessions.Errorf(sessions.CodeNotFound, "No.")
		}
		return api.PingResult{}, nil
	}}
	address, stop := startStoppable(t, s, server.Config{Observer: seen, DrainFor: time.Second,
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })})
	defer stop()
	send(t, "GET", "http://"+address+"/healthz", "")
	send(t, "GET", "http://"+address+"/metrics", "")
	send(t, "GET", "http://"+address+"/v1/sessions/a-name/frames?wrong=1", "")
	send(t, "GET", "http://"+address+"/a-name", "")
	send(t, "PUT", "http://"+address+"/readyz", "")
	call(t, address, `{"id":"1","op":"$ping"}`)
	call(t, address, `{"id":"1","op":"$turn","args":{"sessionId":"a","turnId":"b"}}`)
	call(t, address, `{"id":"1","op":"$nonsense"}`)
	conn, _, err := websocket.Dial(t.Context(), "ws://"+address+"/v1/ws", &websocket.DialOptions{Subprotocols: []string{api.Subprotocol}})
	require.NoError(t, err)
	require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(`{"id":"1","op":"$ping"}`)))
	_, _, err = conn.Read(t.Context())
	require.NoError(t, err)
	require.NoError(t, conn.Close(websocket.StatusNormalClosure, ""))
	require.NoError(t, stop()) // every handler has ended

	seen.mu.Lock()
	defer seen.mu.Unlock()
	slices.Sort(seen.requests)
	require.Equal(t, []string{
		"call 200", "call 400", "call 404", "frames 400", "healthz 200", "metrics 200", "none 404", "readyz 405", "ws 101",
	}, seen.requests)
	slices.Sort(seen.done)
	require.Equal(t, []string{"$ping ", "$ping ", "$turn NOT_FOUND"}, seen.done)
}

func TestMetricsAreForThoseWhoMayCall(t *testing.T) {
	shown := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("numbers")) })
	address := start(t, &service{}, server.Config{Metrics: shown, Authenticate: func(*http.Request) (api.Caller, error) {
		return api.Caller{}, sessions.Errorf(sessions.CodeUnauthenticated, "No.")
	}})
	send(t, "GET", "http://"+address+"/metrics", "").refused(t, 401, sessions.CodeUnauthenticated)

	address = start(t, &service{}, server.Config{Metrics: shown})
	require.Equal(t, "numbers", send(t, "GET", "http://"+address+"/metrics", "").body)
	send(t, "GET", "http://"+address+"/metrics", "", "Origin", "https://elsewhere.example").refused(t, 403, sessions.CodeForbidden)
	send(t, "POST", "http://"+address+"/metrics", "").refused(t, 405, sessions.CodeInvalidRequest)
	send(t, "GET", "http://"+start(t, &service{}, server.Config{})+"/metrics", "").refused(t, 404, sessions.CodeNotFound)
}
