package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"agenthost/host/api"
	"agenthost/sessions"
)

// replyTo returns the reply to request id: result, or err when it is set.
func replyTo(id *string, result json.RawMessage, err error) api.Reply {
	if err != nil {
		return api.ErrorReply(id, err)
	}
	return api.Reply{ID: id, OK: true, Result: result} // encoded already, by do
}

// refuse answers an HTTP request with an error.
func (s *Server) refuse(w http.ResponseWriter, id *string, err error) {
	reply := api.ErrorReply(id, err)
	status := reply.HTTPStatus()
	if _, method := errors.AsType[methodError](err); method {
		status = http.StatusMethodNotAllowed
	}
	if wait := api.RetryAfter(err); wait != "" {
		w.Header().Set("Retry-After", wait)
	}
	if reply.Error.Code == sessions.CodeUnauthenticated {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	s.writeReply(w, status, reply)
}

// writeReply writes a reply as the whole answer.
func (s *Server) writeReply(w http.ResponseWriter, status int, reply api.Reply) {
	s.beginJSON(w, status)
	_ = api.WriteReply(w, reply) // a client that has gone away reads no error
}

// beginJSON writes the header of an answer in JSON.
func (s *Server) beginJSON(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.config.StallAfter)) // not every writer has deadlines
	w.WriteHeader(status)
}
