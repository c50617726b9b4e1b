package hosttest

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/sessions"
)

// Socket is a WebSocket to a host, with nothing between the test and the wire.
type Socket struct {
	t    testing.TB
	conn *websocket.Conn
	ids  int
}

// Message is anything a host sends on a WebSocket.
type Message struct {
	api.Reply
	Sub   string          `json:"sub"`
	Frame *sessions.Frame `json:"frame"`
	End   *api.End        `json:"end"`
	Text  string          `json:"-"` // as it came
}

// IsReply reports whether the message answers a request.
func (m Message) IsReply() bool { return m.Frame == nil && m.End == nil }

// Socket opens a WebSocket that is cut off by Restart and at the end of the test.
func (h *Host) Socket() *Socket {
	h.t.Helper()
	s := DialSocket(h.t, h.URL, h.http)
	h.sockets = append(h.sockets, s)
	return s
}

// DialSocket opens a WebSocket to the host at a URL, through through if it is not
// nil. It is cut off at the end of the test.
func DialSocket(t testing.TB, url string, through *http.Client) *Socket {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, url+"/v1/ws", &websocket.DialOptions{
		HTTPClient: through, Subprotocols: []string{api.Subprotocol},
	})
	require.NoError(t, err)
	conn.SetReadLimit(-1)
	s := &Socket{t: t, conn: conn}
	t.Cleanup(s.Cut)
	return s
}

// Cut ends the connection without a word.
func (s *Socket) Cut() { _ = s.conn.CloseNow() }

// Send sends one text message as it stands.
func (s *Socket) Send(text string) {
	s.t.Helper()
	require.NoError(s.t, s.TrySend(text))
}

// TrySend does so, or returns why it cannot: the way to see a connection that
// the host has cut without reading from it.
func (s *Socket) TrySend(text string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), Patience)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, []byte(text))
}

// Request sends a request under a new id, which it returns.
func (s *Socket) Request(op api.Op, args any) (id string) {
	s.t.Helper()
	s.ids++
	id = strconv.Itoa(s.ids)
	s.Send(envelope(s.t, &id, op, args))
	return id
}

// Read returns the next message.
func (s *Socket) Read() Message {
	s.t.Helper()
	m, err := s.TryRead()
	require.NoError(s.t, err)
	return m
}

// TryRead returns the next message, or why there is none.
func (s *Socket) TryRead() (Message, error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), Patience)
	defer cancel()
	_, data, err := s.conn.Read(ctx)
	if err != nil {
		return Message{}, err
	}
	m := Message{Text: string(data)}
	require.NoError(s.t, json.Unmarshal(data, &m), "%s", data)
	return m, nil
}

// Reply reads up to the reply to request id and returns it after the frames of
// that request. It fails at a message of another kind.
func (s *Socket) Reply(id string) ([]sessions.Frame, api.Reply) {
	s.t.Helper()
	var frames []sessions.Frame
	for {
		m := s.Read()
		require.True(s.t, m.ID != nil && *m.ID == id, "want a message of request %s, have %s", id, m.Text)
		if m.IsReply() {
			return frames, m.Reply
		}
		frames = append(frames, *m.Frame)
	}
}

// Call makes a request and returns the reply, passing over its frames.
func (s *Socket) Call(op api.Op, args any) api.Reply {
	s.t.Helper()
	_, reply := s.Reply(s.Request(op, args))
	return reply
}

// envelope writes a request. args are JSON already, or made into it.
func envelope(t testing.TB, id *string, op api.Op, args any) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	raw, ok := args.(json.RawMessage)
	if !ok {
		var err error
		raw, err = json.Marshal(args)
		require.NoError(t, err)
	}
	require.NoError(t, e.Encode(api.Request{ID: id, Op: op, Args: raw}))
	return strings.TrimSuffix(b.String(), "\n")
}

// Result decodes the result of a reply that must be OK.
func Result[R any](t testing.TB, reply api.Reply) R {
	t.Helper()
	require.NoError(t, reply.Err())
	var result R
	require.NoError(t, json.Unmarshal(reply.Result, &result))
	return result
}

// Code returns the code of a reply's error, "" for one that is OK.
func Code(reply api.Reply) sessions.Code {
	return sessions.CodeOf(reply.Err())
}
