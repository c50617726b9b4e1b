package client

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"agenthost/host/api"
	"agenthost/sessions"
)

const (
	// promptRepeats is how often a prompt whose connection was lost is sent again.
	promptRepeats = 5
	// firstPause is the time before the first repeat; each is twice the one before.
	firstPause = 200 * time.Millisecond
)

// Prompt sends a prompt and awaits its answer. onFrame, when not nil, gets the
// turn's frames in order before Prompt returns, from the calling goroutine; an
// error of it makes Prompt return that error, and the turn goes on.
//
// A prompt without a request id is given one. When the connection is lost after
// it was made, the same prompt is sent again under the same request id, up to
// five times within some six seconds, so that it runs once however often it was
// sent. onFrame then gets no numbered frame twice; text it got as deltas may come
// again as a text frame, with the same step, attempt and offset. A host that
// nobody answers for at first is ErrUnreachable at once.
func (c *Client) Prompt(ctx context.Context, args api.PromptArgs, onFrame func(sessions.Frame) error) (*api.PromptResult, error) {
	if args.RequestID == "" {
		args.RequestID = sessions.RequestID(uuid.NewString())
	}
	args.Stream = onFrame != nil
	return c.runTurn(ctx, api.OpPrompt, args, onFrame)
}

// Retry runs a session's last turn again, if it did not complete. It repeats
// itself and passes frames on as Prompt does.
func (c *Client) Retry(ctx context.Context, args api.RetryArgs, onFrame func(sessions.Frame) error) (*api.PromptResult, error) {
	if args.RequestID == "" {
		args.RequestID = sessions.RequestID(uuid.NewString())
	}
	args.Stream = onFrame != nil
	return c.runTurn(ctx, api.OpRetry, args, onFrame)
}

// runTurn sends a request that starts a turn, again when the connection is lost.
func (c *Client) runTurn(ctx context.Context, op api.Op, args api.Args, onFrame func(sessions.Frame) error) (*api.PromptResult, error) {
	send := func() (*api.PromptResult, error) { return call[api.PromptResult](ctx, c, op, args) }
	if onFrame != nil {
		once := withoutRepeats(onFrame)
		send = func() (*api.PromptResult, error) { return c.streamTurn(ctx, op, args, once) }
	}
	result, err := send()
	if NobodyListens(err) {
		return nil, err
	}
	pause := firstPause
	for range promptRepeats {
		if !errors.Is(err, ErrUnreachable) {
			break
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause):
		}
		pause *= 2
		result, err = send()
	}
	return result, err
}

// withoutRepeats passes each numbered frame to onFrame once.
func withoutRepeats(onFrame func(sessions.Frame) error) func(sessions.Frame) error {
	var last int64
	return func(f sessions.Frame) error {
		if f.Seq != 0 && f.Seq <= last {
			return nil
		}
		last = max(last, f.Seq)
		return onFrame(f)
	}
}

// streamTurn sends a request that starts a turn over a WebSocket of its own.
func (c *Client) streamTurn(ctx context.Context, op api.Op, args api.Args, onFrame func(sessions.Frame) error) (*api.PromptResult, error) {
	socket, err := c.dialSocket(ctx)
	if err != nil {
		return nil, err
	}
	defer socket.close()
	if err := socket.send(ctx, op, args); err != nil {
		return nil, err
	}
	for {
		m, err := socket.read(ctx)
		if err != nil {
			return nil, err
		}
		if m.Frame == nil {
			return resultOf[api.PromptResult](m.Reply)
		}
		if err := onFrame(*m.Frame); err != nil {
			return nil, err
		}
	}
}
