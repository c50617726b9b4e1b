package server

import (
	"context"

	"agenthost/host"
	"agenthost/host/api"
)

// For returns a host as the Service that the doors open to.
func For(h *host.Host) Service { return hostService{h} }

// hostService differs from a host only in who is named as the caller.
type hostService struct{ *host.Host }

func (s hostService) Subscribe(ctx context.Context, caller api.Caller, args *api.SubscribeArgs) (Subscription, error) {
	sub, err := s.As(caller).Subscribe(ctx, args)
	if err != nil {
		return nil, err // not a nil pointer in an interface
	}
	return sub, nil
}
