package agentsv1

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"agenthost/host/api/strictjson"
	"agenthost/sessions"
)

// body reads the request's body through the gate: content type, size, UTF-8, one
// JSON value, no name twice, an object. It returns the object as it stands.
func (v *visit) body() (json.RawMessage, error) {
	media, params, err := mime.ParseMediaType(strings.Join(v.r.Header.Values("Content-Type"), ","))
	if charset := params["charset"]; err != nil || media != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return nil, invalid("", "The Content-Type of a request is application/json in UTF-8.")
	}
	data, err := v.readAll()
	switch {
	case err != nil:
		return nil, err
	case !utf8.Valid(data):
		return nil, invalid("", "The body must be valid UTF-8.")
	case !json.Valid(data):
		return nil, invalid("", "The body must be one JSON value, with nothing after it.")
	}
	var object json.RawMessage
	if err := decode(data, "", &object); err != nil {
		return nil, err
	}
	if object[0] != '{' {
		return nil, invalid("", "The body must be a JSON object.")
	}
	return object, nil
}

// readAll reads the body within the limits of size and time.
func (v *visit) readAll() ([]byte, error) {
	limit := v.config.Limits.EnvelopeBytes
	tooLarge := &problem{status: http.StatusRequestEntityTooLarge, Type: typeInvalid, Code: codeTooLarge,
		Message: "The body is larger than the limit of this host; send less at once."}
	if v.r.ContentLength > limit {
		v.w.Header().Set("Connection", "close") // the rest is not worth reading
		return nil, tooLarge
	}
	rc := http.NewResponseController(v.w)
	_ = rc.SetReadDeadline(time.Now().Add(v.config.BodyTimeout)) // not every writer has deadlines
	data, err := io.ReadAll(http.MaxBytesReader(v.w, v.r.Body, limit))
	if err == nil {
		_ = rc.SetReadDeadline(time.Time{})
		return data, nil
	}
	v.w.Header().Set("Connection", "close")
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, tooLarge
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, &problem{status: http.StatusRequestTimeout, Type: typeInvalid, Code: codeTimeout, passing: true,
			Message: fmt.Sprintf("The body did not arrive within %s; send it faster.", v.config.BodyTimeout)}
	}
	return nil, invalid("", "The body could not be read to its end.")
}

// decode reads a value that has passed the gate, or a part of it at a JSON
// pointer. The error names the place in its text too.
func decode(data []byte, at string, into any) error {
	err := strictjson.Decode(data, at, into)
	if err == nil || sessions.CodeOf(err) != sessions.CodeInvalidRequest {
		return err
	}
	e := sessions.AsError(err)
	pointer, _ := e.Details["field"].(string)
	param := dotted(pointer)
	if param == "" {
		return invalid("", "%s", e.Message)
	}
	return invalid(param, "%s (%s)", e.Message, param)
}

// present reports whether a member was given, and not as null.
func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
