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

// staying makes a handler's connection end when its caller may not stay.
func (s *Server) staying(handle callerHandler) callerHandler {
	return func(w http.ResponseWriter, r *http.Request, caller api.Caller) {
		ctx, end := context.WithCancel(r.Context())
		defer end()
		here := &stay{caller, end}
		s.mu.Lock()
		s.stays[here] = struct{}{}
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.stays, here)
		}()
		// What changed between the admission and now, Recheck has not seen.
		if err := s.config.Readmit(caller, 0); err != nil {
			s.refuse(w, nil, err)
			return
		}
		handle(w, r.WithContext(ctx), caller)
	}
}

// Recheck ends the WebSockets and the event streams of subscriptions whose callers
// Config.Readmit does not let in any more. Other requests under way go on.
func (s *Server) Recheck() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for here := range s.stays {
		if s.config.Readmit(here.caller, 0) != nil {
			here.end()
		}
	}
}
