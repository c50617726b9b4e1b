package api

import "agenthost/sessions"

// SubscribeArgs asks for a session's frames as they come. Without an address it
// asks for the events of the caller's sessions.
type SubscribeArgs struct {
	Address
	// After is where to begin: "" means now, "0" all that is kept. It needs an
	// address.
	After sessions.Cursor `json:"after,omitempty" strict:"nonempty"`
}

// SubscribeResult names the subscription. Its events follow the reply.
type SubscribeResult struct {
	Sub string `json:"sub"`
	// Cursor is the position it begins after; "" without an address.
	Cursor sessions.Cursor `json:"cursor"`
}

// UnsubscribeArgs ends a subscription of the same connection.
type UnsubscribeArgs struct {
	ownerless
	Sub string `json:"sub"`
}

// UnsubscribeResult has no fields.
type UnsubscribeResult struct{}
