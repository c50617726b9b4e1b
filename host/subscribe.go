package host

import (
	"context"
	"errors"
	"sync"

	"agenthost/actors/feed"
	"agenthost/host/api"
	"agenthost/sessions"
)

// Subscription is a stream of a session's frames. Next and Close belong to one
// goroutine.
type Subscription struct {
	host  *Host
	from  sessions.Cursor
	feed  *feed.Subscription
	close sync.Once
	end   SubscriptionEnd // why it ended
}

// Subscribe follows a session's frames: those after a cursor that are kept,
// then those to come, without a hole or a repeat. Without an address it follows
// the changes of all of the owner's sessions from now on, which are not kept.
func (a *Access) Subscribe(ctx context.Context, args *api.SubscribeArgs) (*Subscription, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	if args.IsZero() {
		return a.host.watch(func(f *feed.Feed) *feed.Subscription { return f.SubscribeOwner(a.owner(args.Owner)) })
	}
	s, err := a.find(ctx, args.Address)
	if err != nil {
		a.noteForeign(ctx, args, nil, err)
		return nil, a.orDeleted(ctx, err, args.After)
	}
	seq, err := a.position(ctx, s, "/args/after", args.After, s.LastFrame)
	if err != nil {
		return nil, err
	}
	return a.host.watch(func(f *feed.Feed) *feed.Subscription {
		return f.Subscribe(s.Owner, s.Fence.Incarnation, seq)
	})
}

// watch opens a subscription, if the host has room for one more.
func (h *Host) watch(open func(*feed.Feed) *feed.Subscription) (*Subscription, error) {
	if limit := int64(h.config.Limits.Subscriptions); h.watchers.Add(1) > limit {
		h.watchers.Add(-1)
		return nil, sessions.Errorf(sessions.CodeOverloaded, "The host has its limit of %d subscriptions; try again after a pause.", limit).
			With("limit", "subscriptions").With("max", limit)
	}
	opened := open(h.system.Feed())
	return &Subscription{host: h, from: opened.Cursor(), feed: opened, end: SubscriberLeft}, nil
}

// Cursor is the position the subscription begins after.
func (s *Subscription) Cursor() sessions.Cursor { return s.from }

// Next returns the next frame, waiting for it if need be: *api.EndError once
// the subscription has ended, ctx's error when ctx ends.
func (s *Subscription) Next(ctx context.Context) (sessions.Frame, error) {
	frame, err := s.feed.Next(ctx)
	if end, ok := errors.AsType[*feed.EndError](err); ok {
		s.end = SubscriptionEnd(end.Reason)
		return frame, &api.EndError{Reason: api.EndReason(end.Reason), Cursor: end.Cursor}
	}
	return frame, err
}

// Close gives the subscription up. Calls after the first do nothing.
func (s *Subscription) Close() {
	s.close.Do(func() {
		s.feed.Close()
		s.host.watchers.Add(-1)
		s.host.config.Observer.SubscriptionEnded(s.end)
	})
}
