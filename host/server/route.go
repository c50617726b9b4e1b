package server

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"agenthost/host/api"
	"agenthost/sessions"
)

// The paths of the doors; that of a session's frames is /v1/sessions/{id}/frames.
const (
	pathSocket   = "/v1/ws"
	pathCall     = "/v1/call"
	pathSessions = "/v1/sessions/"
	pathHealth   = "/healthz"
	pathReady    = "/readyz"
	pathMetrics  = "/metrics"
	pathAgents   = "/v1/agents"
	pathVaults   = "/v1/vaults"
)

// callerHandler handles a request whose caller is known.
type callerHandler func(http.ResponseWriter, *http.Request, api.Caller)

// route returns what handles r, or why nothing does. It may set headers of the
// answer.
func (s *Server) route(w http.ResponseWriter, r *http.Request) (http.HandlerFunc, error) {
	switch path := r.URL.EscapedPath(); path {
	case pathHealth:
		return s.health, s.checkMethod(w, r, http.MethodGet, http.MethodHead)
	case pathReady:
		return s.ready, s.checkMethod(w, r, http.MethodGet, http.MethodHead)
	case pathMetrics:
		if s.config.Metrics == nil {
			return nil, errNothingHere()
		}
		return s.admit(s.metrics), s.checkMethod(w, r, http.MethodGet, http.MethodHead)
	case pathSocket:
		return s.admit(s.staying(s.openSocket)), s.checkMethod(w, r, http.MethodGet)
	case pathCall:
		return s.admit(s.call), s.checkMethod(w, r, http.MethodPost)
	default:
		if s.config.Agents != nil && isAgents(path) {
			return s.agents, s.checkPage(r)
		}
		id, ok := framesOf(path)
		if !ok {
			return nil, errNothingHere()
		}
		return s.admit(s.staying(func(w http.ResponseWriter, r *http.Request, caller api.Caller) {
			s.frames(w, r, caller, id)
		})), s.checkMethod(w, r, http.MethodGet)
	}
}

func errNothingHere() error {
	return sessions.Errorf(sessions.CodeNotFound, "There is nothing at this path.")
}

// metrics lets whoever counts the host write the answer. It is about all owners,
// so it is for admins, though it names none.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request, caller api.Caller) {
	if !caller.Admin {
		s.refuse(w, nil, sessions.Errorf(sessions.CodeForbidden, "Only an admin may see what is counted, since it is about all owners."))
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.config.StallAfter)) // not every writer has deadlines
	s.config.Metrics.ServeHTTP(w, r)
}

// isAgents reports whether a path is the Agents API's: one of its roots, or below it.
func isAgents(path string) bool {
	return slices.ContainsFunc([]string{pathAgents, pathVaults}, func(root string) bool {
		return path == root || strings.HasPrefix(path, root+"/")
	})
}

// agents lets another handler answer, as it sees fit.
func (s *Server) agents(w http.ResponseWriter, r *http.Request) { s.config.Agents.ServeHTTP(w, r) }

// framesOf returns the session whose frames an escaped path names.
func framesOf(path string) (id sessions.SessionID, ok bool) {
	rest, ok := strings.CutPrefix(path, pathSessions)
	segment, frames := strings.CutSuffix(rest, "/frames")
	if !ok || !frames || strings.Contains(segment, "/") {
		return "", false
	}
	name, err := url.PathUnescape(segment)
	return sessions.SessionID(name), err == nil && name != ""
}

// methodError is the answer to a method that a path does not have. No code says
// that, so it is an INVALID_REQUEST with a status of its own.
type methodError struct{ error }

// Unwrap returns the error with its code.
func (e methodError) Unwrap() error { return e.error }

func (s *Server) checkMethod(w http.ResponseWriter, r *http.Request, allowed ...string) error {
	if slices.Contains(allowed, r.Method) {
		return nil
	}
	allow := strings.Join(allowed, ", ")
	w.Header().Set("Allow", allow)
	return methodError{sessions.Errorf(sessions.CodeInvalidRequest, "This path does not take this method; it takes %s.", allow)}
}

// admit lets only requests through whose origin may call and whose caller is
// known.
func (s *Server) admit(handle callerHandler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := s.checkPage(r); err != nil {
			s.refuse(w, nil, err)
			return
		}
		var caller api.Caller
		err := s.guard(r.Context(), func() (err error) {
			caller, err = s.config.Authenticate(r)
			return err
		})
		if err != nil {
			s.refuse(w, nil, err)
			return
		}
		handle(w, r, caller)
	}
}
