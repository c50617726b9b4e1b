package host

import "agenthost/actors"

// Observer hears what a Host does, so that it can be counted. Its methods are
// called from many goroutines at once and must not block.
type Observer interface {
	actors.Observer
	// SubscriptionEnded hears of the end of each subscription.
	SubscriptionEnded(why SubscriptionEnd)
}

// SubscriptionEnd says why a subscription ended: one of the reasons of
// api.EndError, or SubscriberLeft.
type SubscriptionEnd string

// SubscriberLeft is the end of a subscription that was given up by its reader.
const SubscriberLeft SubscriptionEnd = "left"

// Subscriptions is how many subscriptions are open.
func (h *Host) Subscriptions() int64 { return h.watchers.Load() }

// unobserved is the Observer of a host that nobody observes.
type unobserved struct{ actors.Unobserved }

func (unobserved) SubscriptionEnded(SubscriptionEnd) {}
