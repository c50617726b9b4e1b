package server

import (
	"context"

	"agenthost/host/api"
	"agenthost/sessions"
)

// Service is what the doors open to. All methods may be called concurrently,
// and return soon after ctx ends.
type Service interface {
	// Do runs one operation. args is a pointer to the arguments type of an
	// operation, decoded and not yet validated. emit, when not nil, gets the
	// frames the request asked for, in order, from the calling goroutine and
	// before Do returns; an error of emit stops the frames and not the operation.
	// The end of ctx ends the wait and not the operation.
	Do(ctx context.Context, caller api.Caller, args any, emit func(sessions.Frame) error) (result any, err error)
	// Subscribe opens a subscription. ctx bounds the opening only.
	Subscribe(ctx context.Context, caller api.Caller, args *api.SubscribeArgs) (Subscription, error)
	// Ready returns nil when the store takes writes and the root is alive.
	Ready(ctx context.Context) error
}

// Subscription is a stream of frames. Next and Close are called by one
// goroutine.
type Subscription interface {
	// Cursor is the position the subscription begins after.
	Cursor() sessions.Cursor
	// Next returns the next frame, or an *api.EndError once the subscription has
	// ended, or the error of ctx.
	Next(ctx context.Context) (sessions.Frame, error)
	// Close gives the subscription up.
	Close()
}
