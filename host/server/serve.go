package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Bounds of every HTTP connection that Serve accepts.
const (
	headerTimeout  = 10 * time.Second // for a request's header to arrive
	idleTimeout    = 2 * time.Minute  // between requests
	maxHeaderBytes = 64 << 10
)

// Serve accepts connections of listener, a TCP or Unix socket or any other,
// until ctx ends; then it shuts the whole server down, giving what is under way
// Config.DrainFor, and returns nil, or the error of Shutdown. Another error is
// the listener's. Several listeners may be served at once. Serve closes listener.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	counted := newConnections(listener, s.config.Limits.Connections)
	hs := &http.Server{
		Handler:           s,
		ConnState:         counted.follow,
		ReadHeaderTimeout: headerTimeout,
		// What net/http refuses by itself has a body too. Others are given their time
		// with their request.
		ReadTimeout:    headerTimeout + s.config.BodyTimeout,
		IdleTimeout:    idleTimeout,
		MaxHeaderBytes: maxHeaderBytes,
		// OPTIONS * is a path like others that there are not.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	if !s.addHTTP(hs) {
		return errors.Join(errStopping(), listener.Close())
	}
	listener = counted
	if s.config.TLS != nil && listener.Addr().Network() == "tcp" {
		listener = tls.NewListener(listener, s.config.TLS)
	}
	served := make(chan error, 1)
	go func() { served <- hs.Serve(listener) }()
	select {
	case err := <-served:
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return errors.Join(err, hs.Close())
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.DrainFor)
	defer cancel()
	err := s.Shutdown(drain)
	if failed := <-served; !errors.Is(failed, http.ErrServerClosed) {
		err = errors.Join(err, failed)
	}
	return err
}

func (s *Server) addHTTP(hs *http.Server) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopping {
		s.https[hs] = struct{}{}
	}
	return !s.stopping
}

// Shutdown stops accepting, answers new requests HOST_STOPPING and waits for
// those under way. A WebSocket is closed once its requests have their replies
// and the service has ended its subscriptions. When ctx ends first, what is left
// is cut off and Shutdown returns the error of ctx. Either way every handler has
// ended when it returns. It may be called more than once.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if !s.stopping {
		s.stopping = true
		if len(s.visits) == 0 {
			close(s.idle)
		}
	}
	sockets, https := slices.Collect(maps.Keys(s.sockets)), slices.Collect(maps.Keys(s.https))
	s.mu.Unlock()

	for _, c := range sockets {
		c.drain()
	}
	var group sync.WaitGroup
	for _, hs := range https {
		// What http.Server cannot wait for, it leaves; cut sees to it.
		group.Go(func() { _ = hs.Shutdown(ctx) })
	}
	var err error
	select {
	case <-s.idle:
	case <-ctx.Done():
		err = ctx.Err()
		s.cut(https)
		<-s.idle
	}
	group.Wait()
	return err
}

// cut ends the contexts of all visits and closes all connections.
func (s *Server) cut(https []*http.Server) {
	s.mu.Lock()
	for v := range s.visits {
		v.cut()
	}
	s.mu.Unlock()
	for _, hs := range https {
		_ = hs.Close() // the listener was closed before; its error says only that
	}
}
