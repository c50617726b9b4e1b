package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/coder/websocket"

	"agenthost/host/api"
	"agenthost/sessions"
)

// read takes requests until the connection is lost, or, returning true, until
// it has queued the close of the socket.
func (c *socket) read(ctx context.Context) (closing bool) {
	for {
		kind, message, err := c.conn.Reader(ctx)
		if err != nil {
			return false
		}
		if kind != websocket.MessageText {
			return c.close(ctx, websocket.StatusUnsupportedData, "Requests are text messages.")
		}
		limit := c.server.config.Limits.EnvelopeBytes
		data, err := io.ReadAll(io.LimitReader(message, limit+1))
		if err != nil {
			return false
		}
		if int64(len(data)) > limit {
			return c.close(ctx, websocket.StatusMessageTooBig, fmt.Sprintf("A request has at most %d bytes.", limit))
		}
		admitted := c.server.config.Readmit(c.caller, 1)
		request, err := api.DecodeRequest(data)
		if err == nil {
			err = request.RequireID()
		}
		if err == nil {
			err = admitted
		}
		if err != nil {
			if c.send(ctx, replyTo(request.ID, nil, err)) != nil {
				return false
			}
			continue
		}
		err = c.begin(*request.ID)
		switch {
		case errors.Is(err, errReused):
			return c.close(ctx, websocket.StatusPolicyViolation, "The id of a request in flight was used again.")
		case err != nil:
			if c.send(ctx, replyTo(request.ID, nil, err)) != nil {
				return false
			}
		default:
			c.group.Go(func() {
				defer c.end()
				c.answer(ctx, request)
			})
		}
	}
}

// close queues the close of the socket after what is queued already.
func (c *socket) close(ctx context.Context, code websocket.StatusCode, reason string) bool {
	return c.queue(ctx, outgoing{code: code, reason: reason}) == nil
}

var errReused = errors.New("the id is in flight")

// begin puts a request in flight. The error is errReused or what to answer.
func (c *socket) begin(id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, reused := c.inFlight[id]; reused {
		return errReused
	}
	if c.draining {
		return errStopping()
	}
	if limit := c.server.config.Limits.RequestsInFlight; len(c.inFlight) >= limit {
		return sessions.Errorf(sessions.CodeOverloaded, "A connection has at most %d requests in flight; wait for replies.", limit).
			With("limit", "requestsInFlight").With("max", limit)
	}
	c.inFlight[id] = struct{}{}
	c.active++
	return nil
}

// answer runs one request and, if it opened a subscription, that too.
func (c *socket) answer(ctx context.Context, request api.Request) {
	id := *request.ID
	args, err := request.DecodeArgs()
	if err != nil {
		c.reply(ctx, id, nil, err)
		return
	}
	switch args := args.(type) {
	case *api.SubscribeArgs:
		c.subscribe(ctx, id, args)
	case *api.UnsubscribeArgs:
		result, err := c.unsubscribe(ctx, args)
		c.reply(ctx, id, result, err)
	default:
		result, err := c.server.do(ctx, c.caller, request.Op, args, c.emitter(ctx, id, args))
		c.reply(ctx, id, result, err)
	}
}

// emitter returns what sends the frames of a request; nil if it wants none.
func (c *socket) emitter(ctx context.Context, id string, args api.Args) func(sessions.Frame) error {
	if streamer, ok := args.(api.Streamer); !ok || !streamer.Streams() {
		return nil
	}
	return func(f sessions.Frame) error { return c.send(ctx, api.FrameEvent{ID: &id, Frame: f}) }
}

// reply ends the request and queues its reply. The id is free before the reply
// is out, since a client may use it again as soon as it has read it.
func (c *socket) reply(ctx context.Context, id string, result json.RawMessage, err error) bool {
	c.mu.Lock()
	delete(c.inFlight, id)
	c.mu.Unlock()
	return c.send(ctx, replyTo(&id, result, err)) == nil
}

// end is called when a request's goroutine has queued all it had.
func (c *socket) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active--
	if c.draining && c.active == 0 {
		close(c.drained)
	}
}

// drain refuses new requests and closes the socket when those in flight and the
// subscriptions have ended.
func (c *socket) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.draining && c.active == 0 {
		close(c.drained)
	}
	c.draining = true
}
