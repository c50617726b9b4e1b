package server

import (
	"context"
	"encoding/json"
	"strconv"

	"agenthost/host/api"
	"agenthost/sessions"
)

// subscription is one subscription of a socket, by the name it has there.
type subscription struct {
	cancel context.CancelFunc
	ended  chan struct{} // closed when no event follows any more
}

// subscribe opens a subscription, replies, and sends its events until it ends.
func (c *socket) subscribe(ctx context.Context, id string, args *api.SubscribeArgs) {
	source, err := c.server.subscribe(ctx, c.caller, args)
	if err != nil {
		c.reply(ctx, id, nil, err)
		return
	}
	// A context of its own, so that $unsubscribe ends the one subscription.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	name, sub := c.addSubscription(cancel)
	defer close(sub.ended)
	defer c.removeSubscription(name)
	result, err := api.Encode(api.SubscribeResult{Sub: name, Cursor: source.Cursor()})
	if !c.reply(ctx, id, result, err) || err != nil {
		source.Close()
		return
	}
	end, ok := c.server.follow(ctx, source, func(f sessions.Frame) error {
		return c.send(ctx, api.SubEvent{Sub: name, Frame: f})
	})
	if ok {
		_ = c.send(ctx, api.EndEvent{Sub: name, End: end}) // fails only when nobody reads
	}
}

// unsubscribe ends a subscription; no event of it follows the reply.
func (c *socket) unsubscribe(ctx context.Context, args *api.UnsubscribeArgs) (json.RawMessage, error) {
	if err := args.Validate(c.server.config.Limits); err != nil {
		return nil, err
	}
	sub := c.removeSubscription(args.Sub)
	if sub == nil {
		return nil, sessions.Errorf(sessions.CodeNotFound, "This connection has no such subscription.")
	}
	sub.cancel()
	select {
	case <-sub.ended:
		return api.Encode(api.UnsubscribeResult{})
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *socket) addSubscription(cancel context.CancelFunc) (name string, sub *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastSub++
	name, sub = "s"+strconv.Itoa(c.lastSub), &subscription{cancel: cancel, ended: make(chan struct{})}
	c.subs[name] = sub
	return name, sub
}

// removeSubscription takes a subscription out; nil when there is none.
func (c *socket) removeSubscription(name string) *subscription {
	c.mu.Lock()
	defer c.mu.Unlock()
	sub := c.subs[name]
	delete(c.subs, name)
	return sub
}
