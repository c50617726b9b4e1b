package agentsv1

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"agenthost/host/server"
)

// watch compares all that passes through its doors with the description.
type watch struct {
	described *described

	mu     sync.Mutex
	faults []string
	seen   map[string]bool // "operation status media type", codes of errors, and types of events
}

// newWatch returns a watch that fails the test at its end for what was not as it is
// described. Doors that are watched are closed by then.
func newWatch(t *testing.T) *watch {
	t.Helper()
	d, err := description()
	require.NoError(t, err)
	w := &watch{described: d, seen: map[string]bool{}}
	t.Cleanup(func() {
		for _, fault := range w.found() {
			t.Error(fault)
		}
	})
	return w
}

func (w *watch) saw(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[what] = true
}

func (w *watch) fault(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// found returns the faults, each once.
func (w *watch) found() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(w.faults)))
}

// over returns doors that are watched.
func (w *watch) over(doors http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.EscapedPath(), "/v1/agents") {
			doors.ServeHTTP(out, r)
			return
		}
		var sent bytes.Buffer
		inner := r.WithContext(r.Context()) // a copy: the server looks at the body of its own
		inner.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(r.Body, &sent), r.Body}
		a := &answer{ResponseWriter: out, watch: w, r: r, operation: w.described.operation(r)}
		defer func() { a.check(sent.Bytes()) }()
		doors.ServeHTTP(a, inner)
	})
}

// watched is the API behind a watch, for doors that are not to be wrapped themselves.
type watched struct {
	watch *watch
	server.Agents
}

func (w watched) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.watch.over(w.Agents).ServeHTTP(out, r)
}

func (w watched) Refuse(out http.ResponseWriter, r *http.Request, err error) {
	w.watch.over(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) { w.Agents.Refuse(out, r, err) })).ServeHTTP(out, r)
}

// answer is an answer on its way out.
type answer struct {
	http.ResponseWriter
	watch     *watch
	r         *http.Request
	operation *operation // nil when it is not described

	status  int
	media   string
	content *openapi3.MediaType // nil when there is none to be
	body    []byte              // of a stream, what is no whole event yet
}

// Unwrap lets deadlines and flushes through.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) fault(format string, args ...any) {
	a.watch.fault("%s %.200s %d: %s", a.r.Method, a.r.URL.RequestURI(), a.status, fmt.Sprintf(format, args...))
}

// WriteHeader judges the status and the header.
func (a *answer) WriteHeader(status int) {
	defer a.ResponseWriter.WriteHeader(status)
	if a.status != 0 {
		return
	}
	a.status = status
	response := a.response()
	if response == nil {
		a.fault("the status is not described")
		return
	}
	header := a.Header()
	a.media, _, _ = mime.ParseMediaType(header.Get("Content-Type"))
	if a.content = response.Content[a.media]; a.content == nil && (a.media != "" || len(response.Content) > 0) {
		a.fault("the content type %q is not described", a.media)
	}
	if a.operation != nil {
		a.watch.saw(strings.TrimSpace(a.operation.OperationID + " " + a.named() + " " + a.media))
	}
	for name, described := range response.Headers {
		if err := a.judgeHeader(described, header.Values(name)); err != nil {
			a.fault("the header %s: %v", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if !slices.Contains(everywhere, name) && !isDescribed(response.Headers, name) {
			a.fault("the header %s is not described", name)
		}
	}
}

// everywhere are the headers that any answer of the host's doors may have.
var everywhere = []string{"Cache-Control", "Connection", "Content-Type", "X-Content-Type-Options"}

func isDescribed(headers openapi3.Headers, name string) bool {
	for written := range headers {
		if strings.EqualFold(written, name) {
			return true
		}
	}
	return false
}

func (a *answer) judgeHeader(described *openapi3.HeaderRef, values []string) error {
	switch {
	case len(values) > 1:
		return fmt.Errorf("it is given %d times", len(values))
	case len(values) == 0 && described.Value.Required:
		return fmt.Errorf("it is missing")
	case len(values) == 0:
		return nil
	case described.Value.Schema.Value.Type.Is("integer"):
		return a.watch.described.judgeJSON(described.Ref+"/schema", []byte(values[0]))
	}
	return a.watch.described.judge(described.Ref+"/schema", values[0])
}

// named returns the status as the file names it.
func (a *answer) named() string {
	if a.status >= http.StatusInternalServerError {
		return "5XX"
	}
	return fmt.Sprint(a.status)
}

// response finds the description of the answer. Whoever asks for what is not
// described may be refused before that is known.
func (a *answer) response() *openapi3.Response {
	if a.operation != nil {
		if ref := a.operation.Responses.Status(a.status); ref != nil {
			return ref.Value
		}
		return nil
	}
	name := map[string]string{"400": "Invalid", "401": "Unauthenticated", "403": "Forbidden", "404": "NotFound", "429": "Limited",
		"499": "Gone", "5XX": "Failed"}[a.named()]
	if ref := a.watch.described.doc.Components.Responses[name]; ref != nil {
		return ref.Value
	}
	return nil
}

// Write takes a copy, of which it judges the events that are whole.
func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	a.body = append(a.body, p...)
	for a.media == "text/event-stream" && a.content != nil {
		event, rest, whole := bytes.Cut(a.body, []byte("\n\n"))
		if !whole {
			break
		}
		a.event(string(event))
		a.body = rest
	}
	return a.ResponseWriter.Write(p)
}

// event judges one event of a stream, or a comment.
func (a *answer) event(text string) {
	if strings.HasPrefix(text, ": ") && !strings.Contains(text, "\n") {
		return
	}
	lines := strings.Split(text, "\n")
	if lines[0] == "event: error" && len(lines) == 2 { // nobody can come back behind it
		lines = []string{lines[0], "id: ", lines[1]}
	}
	if len(lines) != 3 {
		a.fault("an event is not of three lines: %s", text)
		return
	}
	data, _ := strings.CutPrefix(lines[2], "data: ")
	kind, err := a.watch.described.judgeEvent(a.content.Schema.Ref, []byte(data))
	if err != nil {
		a.fault("the event %s: %v", data, err)
	}
	id := gjson.Get(data, "event_id").String()
	if kind == "error" {
		id = ""
	}
	if lines[0] != "event: "+kind || lines[1] != "id: "+id {
		a.fault("the lines of the event are at odds: %s", text)
	}
	a.watch.saw(kind)
}

// check judges the whole.
func (a *answer) check(sent []byte) {
	if a.status == 0 {
		if a.r.Context().Err() == nil {
			a.fault("there was no answer")
		}
		return
	}
	a.checkBody()
	if a.status >= http.StatusMultipleChoices || a.operation == nil {
		return
	}
	if err := a.watch.described.judgeRequest(a.operation, a.r, sent); err != nil {
		a.fault("it was taken, though it is not as described: %v", err)
	}
}

func (a *answer) checkBody() {
	switch {
	case a.content == nil && len(a.body) > 0:
		a.fault("a body is not described: %s", a.body)
	case a.content == nil || a.content.Schema == nil || a.media == "text/event-stream":
	default:
		if err := a.watch.described.judgeJSON(a.content.Schema.Ref, a.body); err != nil {
			a.fault("%s: %v", a.body, err)
		}
	}
	if code := gjson.GetBytes(a.body, "error.code"); a.status >= http.StatusBadRequest && code.Exists() {
		a.watch.saw(code.String())
	}
	unknown := `"code":"unsupported_operation"`
	if a.operation == nil && a.status == http.StatusNotFound && !strings.Contains(string(a.body), unknown) {
		a.fault("what is not described is not %s: %s", unknown, a.body)
	}
}
