package agentsv1

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"agenthost/host/api"
	"agenthost/sessions"
)

// The types of errors. Most serve as the code too.
const (
	typeInvalid   = "invalid_request_error"
	typeBeta      = "invalid_beta"
	typeNotFound  = "not_found_error"
	typeConflict  = "conflict_error"
	typeForbidden = "permission_error"
	typeRate      = "rate_limit_error"
	typeServer    = "server_error"

	codeTooLarge    = "request_too_large"
	codeIdempotency = "idempotency_conflict"
	codeUnsupported = "unsupported_operation"
	codeGone        = "client_closed_request"
	codeTimeout     = "request_timeout"
	codeKey         = "invalid_api_key"
)

// problem is an error as the API shows it.
type problem struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Code    string  `json:"code"`
	Param   *string `json:"param"`

	status     int
	passing    bool   // the same request may succeed later
	retryAfter string // "" for none
}

// Error formats the message for the log.
func (p *problem) Error() string { return fmt.Sprintf("%d %s: %s", p.status, p.Code, p.Message) }

// invalid is a 400 about one parameter, as "agent.model"; "" for none.
func invalid(param, format string, args ...any) *problem {
	p := &problem{status: http.StatusBadRequest, Type: typeInvalid, Code: typeInvalid, Message: fmt.Sprintf(format, args...)}
	if param != "" {
		p.Param = &param
	}
	return p
}

// notFound is the answer to every id that the caller has nothing under.
func notFound() *problem {
	return &problem{status: http.StatusNotFound, Type: typeNotFound, Code: typeNotFound, Message: "Resource not found."}
}

func unsupported() *problem {
	return &problem{status: http.StatusNotFound, Type: typeNotFound, Code: codeUnsupported,
		Message: "This host does not offer this operation of the Agents API."}
}

func conflict(code, message string) *problem {
	return &problem{status: http.StatusConflict, Type: typeConflict, Code: code, Message: message}
}

// statusGone is nginx's: no registered status says that the client has left.
const statusGone = 499

// gone says why a request is not waited for any more. Who has closed only their own
// half of the connection reads it.
func gone(ctx context.Context) error {
	if why, ok := errors.AsType[*sessions.Error](context.Cause(ctx)); ok {
		return why
	}
	return &problem{status: statusGone, Type: typeInvalid, Code: codeGone,
		Message: "The request was given up, since its connection was closed; keep it open until the answer."}
}

// problemOf returns err as the API shows it.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if errors.Is(err, sessions.ErrRequestDeleted) || errors.Is(err, sessions.ErrOtherRequest) {
		return conflict(codeIdempotency, "The Idempotency-Key was used for another request; use a new key for a new request.")
	}
	e := sessions.AsError(err)
	switch e.Code {
	case sessions.CodeInvalidRequest, sessions.CodeUnknownProfile:
		return invalid(paramOf(e), "%s", e.Message)
	case sessions.CodePayloadTooLarge:
		p := invalid(paramOf(e), "%s", e.Message)
		p.status, p.Code = http.StatusRequestEntityTooLarge, codeTooLarge
		return p
	case sessions.CodeUnauthenticated:
		return &problem{status: http.StatusUnauthorized, Type: typeInvalid, Code: codeKey, Message: e.Message}
	case sessions.CodeForbidden:
		return &problem{status: http.StatusForbidden, Type: typeForbidden, Code: typeForbidden, Message: e.Message}
	case sessions.CodeNotFound, sessions.CodeSessionNotFound, sessions.CodeSessionDeleted:
		return notFound()
	case sessions.CodeConflict, sessions.CodeSessionClosed:
		return conflict(typeConflict, e.Message)
	case sessions.CodeAgentBusy:
		p := conflict(typeConflict, e.Message)
		p.passing = true
		return p
	case sessions.CodeOverloaded:
		return &problem{status: http.StatusTooManyRequests, Type: typeRate, Code: "rate_limit_exceeded", Message: e.Message,
			passing: true, retryAfter: api.RetryAfter(err)}
	}
	return &problem{status: max(e.Code.Info().HTTPStatus, http.StatusInternalServerError), Type: typeServer, Code: typeServer,
		Message: e.Message, passing: true}
}

// paramOf returns the parameter that an error is about, "" when it names none of
// this API's.
func paramOf(e *sessions.Error) string {
	pointer, _ := e.Details["field"].(string)
	if !strings.HasPrefix(pointer, "/args") {
		return dotted(pointer)
	}
	for from, to := range paramsOfPrompts {
		if rest, ok := strings.CutPrefix(pointer, from); ok {
			return dotted(to + strings.Replace(rest, "/schema", "/parameters", 1))
		}
	}
	return ""
}

// paramsOfPrompts are this API's names for what a prompt asks of its model.
var paramsOfPrompts = map[string]string{
	"/args/clientTools": "/agent/tools", "/args/answerSchema": "/agent/text/format/schema", "/args/instructions": "/agent/instructions",
}

// dotted writes a JSON pointer as parameters are named: "/events/0/type" is
// "events[0].type".
func dotted(pointer string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		if _, err := strconv.Atoi(part); err == nil && b.Len() > 0 {
			b.WriteString("[" + part + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(part)
	}
	return b.String()
}

// write answers with the error.
func (p *problem) write(w http.ResponseWriter, stall time.Duration) {
	header := w.Header()
	if p.status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", "Bearer")
	}
	if p.retryAfter != "" {
		header.Set("Retry-After", p.retryAfter)
	}
	if !p.passing && (p.status == http.StatusBadRequest || p.status == http.StatusConflict) {
		header.Set("X-Should-Retry", "false")
	}
	writeJSON(w, p.status, map[string]*problem{"error": p}, stall)
}

// writeJSON writes a whole answer.
func writeJSON(w http.ResponseWriter, status int, value any, stall time.Duration) {
	body, err := json.Marshal(value)
	if err != nil { // of values made here: cannot happen
		status, body = http.StatusInternalServerError, []byte(`{"error":{"message":"The host met a fault of its own.","type":"server_error","code":"server_error","param":null}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(stall)) // not every writer has deadlines
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone away reads no error
}
