package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/coder/websocket"

	"agenthost/host/api"
	"agenthost/sessions"
)

// socket is a WebSocket with one request on it.
type socket struct {
	conn *websocket.Conn
	most int64 // bytes of a message
}

// incoming is any message of the host.
type incoming struct {
	api.Reply
	Sub   string          `json:"sub"`
	Frame *sessions.Frame `json:"frame"`
	End   *api.End        `json:"end"`
}

func (c *Client) dialSocket(ctx context.Context) (socket, error) {
	header := http.Header{}
	c.authorize(header)
	conn, response, err := websocket.Dial(ctx, c.base.JoinPath("/v1/ws").String(), &websocket.DialOptions{
		HTTPClient: c.http, HTTPHeader: header, Subprotocols: []string{api.Subprotocol},
	})
	if err != nil {
		return socket{}, refusal(ctx, response, err)
	}
	conn.SetReadLimit(c.most)
	return socket{conn, c.most}, nil
}

// refusal returns why a handshake failed: the host's own error, if it sent one.
func refusal(ctx context.Context, response *http.Response, err error) error {
	if response == nil || response.Body == nil {
		return lost(ctx, err)
	}
	body, readErr := io.ReadAll(response.Body)
	var reply api.Reply
	if readErr != nil || json.Unmarshal(body, &reply) != nil || reply.Error == nil {
		return lost(ctx, err)
	}
	return reply.Err()
}

// send sends the socket's one request.
func (s socket) send(ctx context.Context, op api.Op, args api.Args) error {
	data, err := encodeRequest(new("1"), op, args)
	if err != nil {
		return err
	}
	if err := s.conn.Write(ctx, websocket.MessageText, data); err != nil {
		return lost(ctx, err)
	}
	return nil
}

// read returns the next message. The end of ctx ends the socket too.
func (s socket) read(ctx context.Context) (incoming, error) {
	_, data, err := s.conn.Read(ctx)
	if err != nil {
		s.close() // a context that had ended before leaves the connection open
		if errors.Is(err, websocket.ErrMessageTooBig) {
			return incoming{}, errLongAnswer(s.most)
		}
		return incoming{}, lost(ctx, err)
	}
	var m incoming
	if err := json.Unmarshal(data, &m); err != nil {
		return incoming{}, unreachable(fmt.Errorf("a message of the host has another form: %w", err))
	}
	return m, nil
}

// close lets the connection go. The host takes a lost one as well as a closed one.
func (s socket) close() { _ = s.conn.CloseNow() }
