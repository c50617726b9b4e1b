package providertest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"agenthost/oracle/requestlog"
)

// API is the wire format that a server speaks.
type API struct {
	Base     string // of the path of its URL, what a client is configured with
	Path     string // of its one operation, below Base
	Validate func(body []byte) error
	Failure  func(status int, message string) Reply // in the provider's own form
}

// Server is a running server. It is safe for concurrent use and ends with its
// test.
type Server struct {
	requestlog.Log[Request]

	t       testing.TB
	api     API
	http    *httptest.Server
	answer  func(n int, r Request) (Reply, bool)
	stopped chan struct{}
}

// Request is one model request as it came over the wire.
type Request struct {
	Header http.Header
	Body   []byte
}

// New starts a server that answers its n-th request with the n-th reply. A
// request beyond the script, or one that api refuses, fails the test.
func New(t testing.TB, api API, script ...Reply) *Server {
	t.Helper()
	return start(t, api, func(n int, _ Request) (Reply, bool) {
		if n >= len(script) {
			return Reply{}, false
		}
		return script[n], true
	})
}

// NewFunc starts a server whose replies answer computes; it may be called from
// many goroutines at once.
func NewFunc(t testing.TB, api API, answer func(Request) Reply) *Server {
	t.Helper()
	return start(t, api, func(_ int, r Request) (Reply, bool) { return answer(r), true })
}

func start(t testing.TB, api API, answer func(int, Request) (Reply, bool)) *Server {
	t.Helper()
	s := &Server{t: t, api: api, answer: answer, stopped: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+api.Base+api.Path, s.serve)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("the model's server: unexpected request %s %s", r.Method, r.URL)
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

// BaseURL is what a client is configured with.
func (s *Server) BaseURL() string { return s.http.URL + s.api.Base }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	request := Request{Header: r.Header.Clone(), Body: body}
	n := s.Add(request)
	if err := s.api.Validate(body); err != nil {
		s.t.Errorf("the model's server: request %d is invalid: %v\n%s", n+1, err, body)
		s.play(w, r, s.api.Failure(http.StatusBadRequest, err.Error()))
		return
	}
	reply, ok := s.answer(n, request)
	if !ok {
		s.t.Errorf("the model's server: request %d is beyond the script", n+1)
		reply = s.api.Failure(http.StatusBadRequest, "beyond the script")
	}
	s.play(w, r, reply)
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
