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
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Now().Add(s.config.StallAfter)) // not every writer has deadlines
	if r.ContentLength != 0 {
		_ = rc.SetReadDeadline(time.Now().Add(s.config.BodyTimeout)) // net/http takes it away at the body's end
	}
}

// boundRest gives what is left of a body its time, which is none when nothing will
// be read behind it.
func (s *Server) boundRest(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	until := time.Now()
	if w.Header().Get("Connection") != "close" {
		until = until.Add(s.config.BodyTimeout)
	}
	_ = http.NewResponseController(w).SetReadDeadline(until) // not every writer has deadlines
}

// orGone returns the error of a request, or why nobody waits for its answer any
// more. Who has closed only their own half of the connection reads that.
func orGone(ctx context.Context, err error) error {
	if ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
		return err
	}
	if why, ok := errors.AsType[*sessions.Error](context.Cause(ctx)); ok {
		return why
	}
	return sessions.Errorf(sessions.CodeCancelled, "The request was given up, since its connection was closed; keep it open until the answer.")
}
