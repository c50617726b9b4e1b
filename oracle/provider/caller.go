package provider

import (
	"cmp"
	"context"
	"time"

	"agenthost/sessions"
)

// Caller makes the calls of one oracle. Its zero value makes the usual number
// of tries. It is safe for concurrent use.
type Caller struct {
	Key        string        // is kept out of errors
	MaxRetries int           // tries after the first; 0 means 3, negative none
	RetryPause time.Duration // before the first retry, doubling; 0 means 500 ms
}

// Attempt makes one request and reads its stream into a. It returns nil when
// the answer is whole, or when the listener has left.
type Attempt func(ctx context.Context, a *Answer) error

// Infer makes one model call for history and yields its parts. Text arrives as
// the attempt reads it; tool calls, usage and stop come once an attempt has
// ended without error. An attempt that fails before its first part is repeated;
// one that fails after it ends the call.
func (c Caller) Infer(ctx context.Context, history []sessions.Message, yield Yield, attempt Attempt) {
	used := callIDs(history)
	retries := retries{left: max(cmp.Or(c.MaxRetries, 3), 0), next: max(c.RetryPause, 0)}
	retries.next = cmp.Or(retries.next, 500*time.Millisecond)
	for {
		a := Answer{yield: yield, used: used, fresh: len(history) + 1}
		err := attempt(ctx, &a)
		if err == nil && !a.left {
			err = a.lack()
		}
		switch {
		case a.left:
			return
		case err == nil:
			a.finish()
			return
		case ctx.Err() != nil:
			yield(nil, ctx.Err())
			return
		case a.started || !retries.again(err):
			yield(nil, c.Failure(err))
			return
		}
		if err := retries.pause(ctx, err); err != nil {
			yield(nil, err)
			return
		}
	}
}
