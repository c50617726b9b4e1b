package server

import (
	"context"
	"net/http"

	"agenthost/host/api"
)

// stay is a connection that outlives the request it began with.
type stay struct {
	caller api.Caller
	end    context.CancelFunc
}

// Stay returns a context for what outlives a caller's request, such as a stream of
// events. It ends when the caller may not stay, and has to be ended when the stream
// has. The error is that of Config.Readmit. Stay may be called concurrently.
func (s *Server) Stay(ctx context.Context, caller api.Caller) (context.Context, context.CancelFunc, error) {
	ctx, cancel := context.WithCancel(ctx)
	here := &stay{caller, cancel}
	s.mu.Lock()
	s.stays[here] = struct{}{}
	s.mu.Unlock()
	end := func() {
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.stays, here)
	}
	// What changed between the admission and now, Recheck has not seen.
	if err := s.config.Readmit(caller, 0); err != nil {
		end()
		return nil, nil, err
	}
	return ctx, end, nil
}

// staying makes a handler's connection end when its caller may not stay.
func (s *Server) staying(handle callerHandler) callerHandler {
	return func(w http.ResponseWriter, r *http.Request, caller api.Caller) {
		ctx, end, err := s.Stay(r.Context(), caller)
		if err != nil {
			s.refuse(w, nil, err)
			return
		}
		defer end()
		handle(w, r.WithContext(ctx), caller)
	}
}

// Recheck ends the WebSockets and the event streams of subscriptions whose callers
// Config.Readmit does not let in any more, and what else holds a Stay of theirs.
// Other requests under way go on.
func (s *Server) Recheck() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for here := range s.stays {
		if s.config.Readmit(here.caller, 0) != nil {
			here.end()
		}
	}
}
