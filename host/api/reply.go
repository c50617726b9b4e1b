package api

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"

	"agenthost/sessions"
)

// ResultReply answers a request with the result of its operation. A result that
// cannot be encoded makes it an INTERNAL error.
func ResultReply(id *string, result any) Reply {
	raw, err := Encode(result)
	if err != nil {
		return ErrorReply(id, sessions.AsError(err))
	}
	return Reply{ID: id, OK: true, Result: raw}
}

// ErrorReply answers a request with an error. An error without a code becomes
// INTERNAL, and its text is not shown.
func ErrorReply(id *string, err error) Reply {
	return Reply{ID: id, Error: sessions.AsError(err).Info()}
}

// WriteReply writes the reply as one line of JSON.
func WriteReply(w io.Writer, r Reply) error {
	line, err := r.line()
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// line returns the reply as JSON. A result is JSON already and is taken as it
// is, since to encode it again would be to read all of it once more.
func (r Reply) line() ([]byte, error) {
	if !r.OK || len(r.Result) == 0 {
		return Encode(r)
	}
	id, err := Encode(r.ID)
	if err != nil {
		return nil, err
	}
	return slices.Concat([]byte(`{"id":`), id, []byte(`,"ok":true,"result":`), r.Result, []byte("}")), nil
}

// Err returns the error of a reply, nil when it is OK.
func (r Reply) Err() error {
	if r.OK {
		return nil
	}
	if r.Error == nil {
		return sessions.Errorf(sessions.CodeInternal, "The host sent a reply with neither a result nor an error.")
	}
	return r.Error.Err()
}

// HTTPStatus returns the status of the HTTP door for a reply.
func (r Reply) HTTPStatus() int {
	if r.OK {
		return 200
	}
	if r.Error == nil {
		return HTTPStatus(sessions.CodeInternal)
	}
	return HTTPStatus(r.Error.Code)
}

// HTTPStatus returns the status of the HTTP door for a code.
func HTTPStatus(code sessions.Code) int { return code.Info().HTTPStatus }

// Encode returns v as one line of JSON, without the escapes that only HTML needs.
func Encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
