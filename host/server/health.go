package server

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// readyTimeout bounds the check of readiness: a store that takes longer is not
// ready.
const readyTimeout = 5 * time.Second

// health says that the process is up.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	s.writeStatus(w, "ok")
}

// ready says whether the service is ready for work.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := s.guard(r.Context(), func() error { return s.service.Ready(ctx) }); err != nil {
		s.refuse(w, nil, err)
		return
	}
	s.writeStatus(w, "ready")
}

func (s *Server) writeStatus(w http.ResponseWriter, status string) {
	s.beginJSON(w, http.StatusOK)
	_, _ = fmt.Fprintf(w, "{\"status\":%q}\n", status) // a client that has gone away reads no error
}
