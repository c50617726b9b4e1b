package client

import (
	"context"
	"errors"

	"agenthost/host/api"
	"agenthost/sessions"
)

// Subscription is a stream of frames. One goroutine at a time may use it, but
// Close may be called from any.
type Subscription struct {
	socket socket
	cursor sessions.Cursor
}

// Subscribe follows a session's frames as they come, or without an address the
// events of the caller's sessions. ctx bounds the opening only. The caller
// closes the subscription.
func (c *Client) Subscribe(ctx context.Context, args api.SubscribeArgs) (*Subscription, error) {
	socket, err := c.dialSocket(ctx)
	if err != nil {
		return nil, err
	}
	sub, err := openSubscription(ctx, socket, args)
	if err != nil {
		socket.close()
		return nil, err
	}
	return sub, nil
}

func openSubscription(ctx context.Context, socket socket, args api.SubscribeArgs) (*Subscription, error) {
	if err := socket.send(ctx, api.OpSubscribe, args); err != nil {
		return nil, err
	}
	m, err := socket.read(ctx)
	if err != nil {
		return nil, err
	}
	result, err := resultOf[api.SubscribeResult](m.Reply)
	if err != nil {
		return nil, err
	}
	return &Subscription{socket: socket, cursor: result.Cursor}, nil
}

// Cursor is the position after the last numbered frame that Next returned, at
// first the one the subscription begins after: where to subscribe again.
func (s *Subscription) Cursor() sessions.Cursor { return s.cursor }

// Next returns the next frame. It returns an *api.EndError once the host has
// ended the subscription, and ErrUnreachable when the connection is lost. The
// end of ctx ends the subscription.
func (s *Subscription) Next(ctx context.Context) (sessions.Frame, error) {
	m, err := s.socket.read(ctx)
	if err != nil {
		return sessions.Frame{}, err
	}
	if m.End != nil {
		s.cursor = m.End.Cursor
		return sessions.Frame{}, &api.EndError{Reason: m.End.Reason, Cursor: m.End.Cursor}
	}
	if m.Frame == nil {
		return sessions.Frame{}, unreachable(errors.New("a message of the host has another form"))
	}
	if m.Frame.Cursor != "" {
		s.cursor = m.Frame.Cursor
	}
	return *m.Frame, nil
}

// Close ends the subscription. A Next under way returns.
func (s *Subscription) Close() { s.socket.close() }
