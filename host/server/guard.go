package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"agenthost/host/api"
	"agenthost/sessions"
)

// do runs one operation of the service and encodes its result.
func (s *Server) do(ctx context.Context, caller api.Caller, op api.Op, args api.Args, emit func(sessions.Frame) error) (result json.RawMessage, err error) {
	began := time.Now()
	defer func() { s.observe(op, err, began) }()
	err = s.guard(ctx, func() error {
		value, err := s.service.Do(ctx, caller, args, emit)
		if err != nil {
			return err
		}
		result, err = api.Encode(value)
		return err
	}, about(op, args)...)
	return result, err
}

// subscribe opens a subscription of the service.
func (s *Server) subscribe(ctx context.Context, caller api.Caller, args *api.SubscribeArgs) (sub Subscription, err error) {
	began := time.Now()
	defer func() { s.observe(api.OpSubscribe, err, began) }()
	err = s.guard(ctx, func() error {
		sub, err = s.service.Subscribe(ctx, caller, args)
		return err
	}, about(api.OpSubscribe, args)...)
	return sub, err
}

// follow hands every frame of sub to send until the subscription has ended, and
// returns how. ok is false when ctx or send ended it: then nobody is left to tell.
func (s *Server) follow(ctx context.Context, sub Subscription, send func(sessions.Frame) error) (end api.End, ok bool) {
	last := sub.Cursor()
	err := s.guard(ctx, func() error {
		defer sub.Close()
		for {
			frame, err := sub.Next(ctx)
			if err != nil {
				return err
			}
			if err := send(frame); err != nil {
				return errLost
			}
			if frame.Cursor != "" {
				last = frame.Cursor
			}
		}
	})
	if ctx.Err() != nil || errors.Is(err, errLost) {
		return api.End{}, false
	}
	if ended, is := errors.AsType[*api.EndError](err); is {
		return ended.End(), true
	}
	// Whatever broke the subscription, what helps the reader is what helps a
	// slow one: to subscribe again where this one ended.
	return api.End{Reason: api.EndSlow, Cursor: last}, true
}

// errLost says that the reader of a subscription is gone.
var errLost = errors.New("the connection is lost")

// guard turns a panic of f into INTERNAL, and logs what its client is not told,
// with what f is about.
func (s *Server) guard(ctx context.Context, f func() error, about ...any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = sessions.AsError(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
		s.report(ctx, err, about)
	}()
	return f()
}

// report logs an error that has more to say than its client is told, unless it
// is only that nobody waits any more.
func (s *Server) report(ctx context.Context, err error, about []any) {
	_, ended := errors.AsType[*api.EndError](err)
	if err == nil || ended || errors.Is(err, errLost) || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return
	}
	e := sessions.AsError(err)
	if e.Cause == nil && e.Code != sessions.CodeInternal {
		return
	}
	level := slog.LevelWarn
	if e.Code == sessions.CodeInternal {
		level = slog.LevelError
	}
	s.log.Log(ctx, level, "request failed", append(about, "code", e.Code, "message", e.Message, "cause", e.Cause)...)
}
