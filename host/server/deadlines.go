package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"agenthost/sessions"
)

// bound gives a request its first deadlines: whoever reads its body or answers it
// sets them anew. A body that nobody reads needs one too, since net/http waits for
// some of it before and after the answer.
func (s *Server) bound(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.config.StallAfter)) // not every writer has deadlines
	s.boundBody(w, r)
}

func (s *Server) boundBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.config.BodyTimeout)) // not every writer has deadlines
	}
}

// orGone returns the error of a request, or why nobody waits for its answer any
// more. Who has closed only their own half of the connection reads that.
func orGone(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	if why, ok := errors.AsType[*sessions.Error](context.Cause(ctx)); ok {
		return why
	}
	return sessions.Errorf(sessions.CodeCancelled, "The request was given up, since its connection was closed; keep it open until the answer.")
}
