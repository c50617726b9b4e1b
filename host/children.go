package host

import (
	"context"

	"agenthost/host/api"
	"agenthost/sessions"
)

// Children lists a session's records of its sub-sessions, oldest first.
func (a *Access) Children(ctx context.Context, args *api.ChildrenArgs) (*api.ChildrenResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	s, err := a.find(ctx, args.Address)
	if err != nil {
		return nil, err
	}
	refs, err := a.host.store.Refs(ctx, s.Fence.Incarnation)
	if err != nil {
		return nil, err
	}
	if refs == nil {
		refs = []sessions.Ref{}
	}
	return &api.ChildrenResult{Refs: refs}, nil
}
