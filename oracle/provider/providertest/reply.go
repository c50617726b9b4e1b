package providertest

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// Reply is the answer to one request: an event stream, or with a Status a
// plain response.
type Reply struct {
	Status int // 0 for a stream
	Header http.Header
	Body   string // with a Status
	Pieces []Piece
	End    End
	OnGone func() // called when the client left before the reply was over
}

// Piece is some bytes of a stream, sent at once; events may be split anywhere.
type Piece struct {
	After time.Duration   // passes before
	Gate  <-chan struct{} // must be closed before; nil is open
	Data  string
}

// End says how a stream ends once its pieces are sent.
type End int

// The ends of a stream.
const (
	Complete End = iota // in order
	Cut                 // the connection breaks
	Hang                // not before the client leaves
)

// Call is a tool call of a model.
type Call struct {
	ID, Name, Args string
}

// Stream is a reply of the given events, one piece each, and nothing else.
func Stream(events ...string) Reply {
	var r Reply
	for _, e := range events {
		r.Pieces = append(r.Pieces, Piece{Data: e})
	}
	return r
}

// With returns r with one more header.
func (r Reply) With(name, value string) Reply {
	header := r.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set(name, value)
	r.Header = header
	return r
}

func (r Reply) gone() {
	if r.OnGone != nil {
		r.OnGone()
	}
}

// JSON is a plain response.
func JSON(status int, body string) Reply {
	return Reply{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
}

// Quote writes s as a JSON string.
func Quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return strings.TrimSuffix(b.String(), "\n")
}
