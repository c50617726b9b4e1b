package server

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"agenthost/sessions"
)

// readBody reads the envelope in the body of r, within the limits of size and
// time.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if err := checkContentType(r.Header.Get("Content-Type")); err != nil {
		return nil, err
	}
	limit := s.config.Limits.EnvelopeBytes
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close") // the rest is not worth reading
		return nil, errEnvelopeTooLarge(limit)
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(s.config.BodyTimeout)) // not every writer has deadlines
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err == nil {
		_ = rc.SetReadDeadline(time.Time{})
		return body, nil
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, errEnvelopeTooLarge(limit)
	}
	w.Header().Set("Connection", "close")
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, sessions.Errorf(sessions.CodeInvalidRequest, "The body did not arrive within %s; send it faster.", s.config.BodyTimeout)
	}
	return nil, sessions.Errorf(sessions.CodeInvalidRequest, "The body could not be read to its end.")
}

func errEnvelopeTooLarge(limit int64) error {
	return sessions.TooLarge("envelopeBytes", limit, "A request has at most %d bytes; send less at once.", limit)
}

func checkContentType(value string) error {
	if value == "" {
		return nil
	}
	media, params, err := mime.ParseMediaType(value)
	charset := params["charset"]
	if err == nil && media == "application/json" && (charset == "" || strings.EqualFold(charset, "utf-8")) {
		return nil
	}
	return sessions.Errorf(sessions.CodeInvalidRequest, "The Content-Type of a request is application/json in UTF-8, or absent.")
}
