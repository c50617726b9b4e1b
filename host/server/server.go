package server

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"agenthost/sessions"
)

// Server answers requests from a Service.
type Server struct {
	service Service
	config  Config
	log     *slog.Logger
	open    bool // everyone may call

	mu       sync.Mutex
	stopping bool
	visits   map[*visit]struct{}
	idle     chan struct{} // closed when stopping and no visit is left
	sockets  map[*socket]struct{}
	stays    map[*stay]struct{}
	https    map[*http.Server]struct{}
}

// visit is one HTTP request, or one WebSocket, for as long as it is served.
type visit struct{ cut func() }

// New returns a Server that answers from service.
func New(service Service, config Config) *Server {
	open := config.Authenticate == nil
	config = config.withDefaults()
	return &Server{
		service: service, config: config, log: config.Logger, open: open,
		visits:  map[*visit]struct{}{},
		idle:    make(chan struct{}),
		sockets: map[*socket]struct{}{},
		stays:   map[*stay]struct{}{},
		https:   map[*http.Server]struct{}{},
	}
}

// ServeHTTP answers one request. With it a Server can be a part of another
// program's HTTP server, which then calls Shutdown itself.
func (s *Server) ServeHTTP(plain http.ResponseWriter, r *http.Request) {
	w := &answerWatch{ResponseWriter: plain, stall: s.config.StallAfter}
	answered := func() { s.config.Observer.Answered(doorOf(r.URL.EscapedPath()), w.status()) }
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	s.bound(w, r)
	defer s.boundRest(w, r)
	handle, err := s.route(w, r)
	if err != nil {
		s.turnAway(w, r, err)
		answered()
		return
	}
	ctx, leave, ok := s.enter(r.Context())
	if !ok {
		w.Header().Set("Connection", "close")
		s.turnAway(w, r, errStopping())
		answered()
		return
	}
	defer leave()
	defer answered() // before Shutdown takes the visit for ended
	handle(w, r.WithContext(withTrace(ctx, r.Header)))
}

// turnAway refuses a request in the words of the API that it is of.
func (s *Server) turnAway(w http.ResponseWriter, r *http.Request, err error) {
	if s.config.Agents != nil && isAgents(r.URL.EscapedPath()) {
		s.config.Agents.Refuse(w, r, err)
		return
	}
	s.refuse(w, nil, err)
}

func errStopping() error {
	return sessions.Errorf(sessions.CodeHostStopping, "The host is shutting down; send the request again after its restart.")
}

// enter counts a visit until leave is called. Its context ends when Shutdown
// waits no longer. ok is false once the server is stopping.
func (s *Server) enter(parent context.Context) (ctx context.Context, leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return nil, nil, false
	}
	ctx, cancel := context.WithCancelCause(parent)
	v := &visit{cut: func() { cancel(errStopping()) }}
	s.visits[v] = struct{}{}
	return ctx, func() {
		cancel(nil)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.visits, v)
		if s.stopping && len(s.visits) == 0 {
			close(s.idle)
		}
	}, true
}

// addSocket lets Shutdown reach c until the returned function is called.
func (s *Server) addSocket(c *socket) (remove func()) {
	s.mu.Lock()
	s.sockets[c] = struct{}{}
	stopping := s.stopping
	s.mu.Unlock()
	if stopping {
		c.drain()
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.sockets, c)
	}
}
