package openaitest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// Server is a running server.
type Server struct {
	t       testing.TB
	http    *httptest.Server
	answer  func(n int, r Request) (Reply, bool)
	stopped chan struct{}

	mu       sync.Mutex
	requests []Request
	arrived  chan struct{} // closed and replaced at every request
}

// Request is one model request as it came over the wire.
type Request struct {
	Header http.Header
	Body   []byte
}

// New starts a server that answers its n-th request with the n-th reply. A
// request beyond the script, or one that Validate refuses, fails the test.
func New(t testing.TB, script ...Reply) *Server {
	t.Helper()
	return start(t, func(n int, _ Request) (Reply, bool) {
		if n >= len(script) {
			return Reply{}, false
		}
		return script[n], true
	})
}

// NewFunc starts a server whose replies answer computes; it may be called from
// many goroutines at once.
func NewFunc(t testing.TB, answer func(Request) Reply) *Server {
	t.Helper()
	return start(t, func(_ int, r Request) (Reply, bool) { return answer(r), true })
}

func start(t testing.TB, answer func(int, Request) (Reply, bool)) *Server {
	t.Helper()
	s := &Server{t: t, answer: answer, stopped: make(chan struct{}), arrived: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("openaitest: unexpected request %s %s", r.Method, r.URL)
		http.NotFound(w, r)
	})
	s.http = httptest.NewServer(mux)
	t.Cleanup(func() {
		close(s.stopped)
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// BaseURL is what a client is configured with; it ends in /v1.
func (s *Server) BaseURL() string { return s.http.URL + "/v1" }

// Requests returns the requests so far in the order of their arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Await waits until there were at least n requests, or returns ctx's error.
func (s *Server) Await(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		have, arrived := len(s.requests), s.arrived
		s.mu.Unlock()
		if have >= n {
			return nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Server) record(r Request) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	close(s.arrived)
	s.arrived = make(chan struct{})
	return len(s.requests) - 1
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	request := Request{Header: r.Header.Clone(), Body: body}
	n := s.record(request)
	if err := Validate(body); err != nil {
		s.t.Errorf("openaitest: request %d is invalid: %v\n%s", n+1, err, body)
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	reply, ok := s.answer(n, request)
	if !ok {
		s.t.Errorf("openaitest: request %d is beyond the script", n+1)
		refuse(w, http.StatusBadRequest, "beyond the script")
		return
	}
	s.play(w, r, reply)
}

// refuse answers with an error in the provider's own form.
func refuse(w http.ResponseWriter, status int, message string) {
	quoted, _ := json.Marshal(message) //nolint:errchkjson // a string
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":%s,"type":"invalid_request_error","param":null,"code":null}}`, quoted)
}

// play sends reply as its script says.
func (s *Server) play(w http.ResponseWriter, r *http.Request, reply Reply) {
	for name, values := range reply.Header {
		w.Header()[name] = values
	}
	if reply.Status != 0 {
		w.WriteHeader(reply.Status)
		_, _ = io.WriteString(w, reply.Body)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	flusher := http.NewResponseController(w)
	_ = flusher.Flush()
	for _, piece := range reply.Pieces {
		if !s.wait(r, piece) {
			reply.gone()
			return
		}
		_, _ = io.WriteString(w, piece.Data)
		_ = flusher.Flush()
	}
	switch reply.End {
	case Cut:
		panic(http.ErrAbortHandler)
	case Hang:
		s.wait(r, Piece{Gate: make(chan struct{})})
		reply.gone()
	}
}

// wait lets the pause before piece pass; false means that the client has gone.
func (s *Server) wait(r *http.Request, piece Piece) bool {
	gate := piece.Gate
	if gate == nil {
		gate = closed
	}
	for _, passed := range []<-chan struct{}{after(piece.After), gate} {
		select {
		case <-passed:
		case <-r.Context().Done():
			return false
		case <-s.stopped:
			return false
		}
	}
	return true
}

var closed = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// after returns a channel that closes once d has passed.
func after(d time.Duration) <-chan struct{} {
	if d <= 0 {
		return closed
	}
	c := make(chan struct{})
	time.AfterFunc(d, func() { close(c) })
	return c
}
