package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"go.opentelemetry.io/otel/propagation"

	"agenthost/host/api"
	"agenthost/sessions"
)

// Observer hears of requests, so that they can be counted. Its methods are called
// from many goroutines at once and must not block.
type Observer interface {
	// Answered hears of each HTTP request, when it has been answered with a status;
	// of a WebSocket when it is closed.
	Answered(door Door, status int)
	// Done hears of each operation, by whatever door. code is "" when it was done,
	// or when its caller waited no longer.
	Done(op api.Op, code sessions.Code, took time.Duration)
}

// Door is one of the paths that requests come to.
type Door string

// The doors.
const (
	DoorSocket  Door = "ws"
	DoorCall    Door = "call"
	DoorFrames  Door = "frames"
	DoorHealth  Door = "healthz"
	DoorReady   Door = "readyz"
	DoorMetrics Door = "metrics"
	DoorAgents  Door = "agents"
	DoorNone    Door = "none" // there is nothing at the path
)

func doorOf(path string) Door {
	switch path {
	case pathSocket:
		return DoorSocket
	case pathCall:
		return DoorCall
	case pathHealth:
		return DoorHealth
	case pathReady:
		return DoorReady
	case pathMetrics:
		return DoorMetrics
	}
	if isAgents(path) {
		return DoorAgents
	}
	if _, ok := framesOf(path); ok {
		return DoorFrames
	}
	return DoorNone
}

// unobserved is the Observer of a server that nobody observes.
type unobserved struct{}

func (unobserved) Answered(Door, int)                        {}
func (unobserved) Done(api.Op, sessions.Code, time.Duration) {}

// answerWatch remembers the status of an answer, and writes it for as long as the
// reader takes some of it now and then.
type answerWatch struct {
	http.ResponseWriter
	stall time.Duration
	code  int
}

// Write writes p, however long it takes as long as it moves.
func (w *answerWatch) Write(p []byte) (written int, err error) {
	rc := http.NewResponseController(w.ResponseWriter)
	for chunk := range slices.Chunk(p, stallChunk) {
		_ = rc.SetWriteDeadline(time.Now().Add(w.stall)) // not every writer has deadlines
		n, err := w.ResponseWriter.Write(chunk)
		if written += n; err != nil {
			return written, err
		}
	}
	return written, nil
}

// WriteHeader passes the status on.
func (w *answerWatch) WriteHeader(status int) {
	if w.code == 0 || w.code < 200 && w.code != http.StatusSwitchingProtocols {
		w.code = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController find what the connection can do.
func (w *answerWatch) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// status is that of the answer, which is 200 when nothing else was said.
func (w *answerWatch) status() int {
	if w.code == 0 {
		return http.StatusOK
	}
	return w.code
}

// observe tells of the end of an operation that began at a time.
func (s *Server) observe(op api.Op, err error, began time.Time) {
	var code sessions.Code
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		code = sessions.CodeOf(err)
	}
	s.config.Observer.Done(op, code, time.Since(began))
}

// about is what a log line about a request begins with.
func about(op api.Op, args api.Args) []any {
	line := []any{"op", op}
	if address, ok := args.(interface{ At() sessions.Address }); ok && address.At().ID != "" {
		line = append(line, "session", address.At().ID)
	}
	var request sessions.RequestID
	switch args := args.(type) {
	case *api.PromptArgs:
		request = args.RequestID
	case *api.RetryArgs:
		request = args.RequestID
	case *api.CancelArgs:
		request = args.RequestID
	case *api.TurnArgs:
		request = args.RequestID
	}
	if request != "" {
		line = append(line, "request", request)
	}
	return line
}

// withTrace returns ctx with the span that the caller says its request is part
// of. All requests of a WebSocket are part of the span that its handshake names.
func withTrace(ctx context.Context, header http.Header) context.Context {
	if header.Get("Traceparent") == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(header))
}
