package sessions

import (
	"errors"
	"fmt"
	"maps"
	"strings"
)

// Error is the one error type that crosses a package boundary with a meaning.
// Message and Details are shown to clients; Cause goes to the log only, since
// it may carry a provider's or a driver's raw text.
type Error struct {
	Code    Code
	Message string         // one sentence: what was wrong, the limit, what to do
	Details map[string]any // machine-readable facts: field, limit, max, turnId …
	Cause   error          // never shown to a client
}

// Errorf returns an Error of the given code with a formatted message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// InvalidField returns INVALID_REQUEST about one field. pointer is a JSON
// pointer (RFC 6901) from the root of the request, such as "/args/limit".
func InvalidField(pointer, format string, args ...any) *Error {
	return Errorf(CodeInvalidRequest, format, args...).With("field", pointer)
}

// TooLarge returns PAYLOAD_TOO_LARGE naming the limit's configuration name and
// its value in the limit's own unit.
func TooLarge(limit string, max int64, format string, args ...any) *Error {
	return Errorf(CodePayloadTooLarge, format, args...).With("limit", limit).With("max", max)
}

// Error formats the code, the message and, for the log, what of the cause the
// message does not say already.
func (e *Error) Error() string {
	cause := e.Cause
	for cause != nil {
		inner, coded := cause.(*Error) //nolint:errorlint // what is wrapped around an Error is text of its own
		if !coded || !strings.Contains(e.Message, inner.Message) {
			break
		}
		cause = inner.Cause
	}
	if cause != nil {
		if text := cause.Error(); !strings.Contains(e.Message, text) {
			return fmt.Sprintf("%s: %s (%s)", e.Code, e.Message, text)
		}
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// With returns a copy of e with one more detail.
func (e *Error) With(key string, value any) *Error {
	c := *e
	c.Details = maps.Clone(e.Details)
	if c.Details == nil {
		c.Details = map[string]any{}
	}
	c.Details[key] = value
	return &c
}

// Because returns a copy of e with a cause for the log.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.Cause = cause
	return &c
}

// Is reports whether target is an *Error of the same code and message, so that
// errors.Is(err, ErrFenced) and the like work on copies.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Message == e.Message
}

// AsError returns err as an *Error. Anything without a code becomes INTERNAL
// with err as its cause, so that no raw text reaches a client. nil stays nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Errorf(CodeInternal, "The host met a fault of its own; its log has the rest.").Because(err)
}

// CodeOf returns the code of err: "" for nil, INTERNAL for an error without one.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	return AsError(err).Code
}

// ErrorInfo is an Error as it is stored and sent: what a client may see of it.
type ErrorInfo struct {
	Code      Code           `json:"code"`
	Message   string         `json:"message"`
	Retryable bool           `json:"retryable"`
	Details   map[string]any `json:"details,omitempty"`
}

// Info returns what a client may see of e.
func (e *Error) Info() *ErrorInfo {
	if e == nil {
		return nil
	}
	return &ErrorInfo{Code: e.Code, Message: e.Message, Retryable: e.Code.Info().Retryable, Details: e.Details}
}

// Err turns a stored or received ErrorInfo back into an Error. nil stays nil.
func (i *ErrorInfo) Err() *Error {
	if i == nil {
		return nil
	}
	return &Error{Code: i.Code, Message: i.Message, Details: i.Details}
}
