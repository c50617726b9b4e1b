package host

import (
	"context"

	"agenthost/host/api"
	"agenthost/sessions"
)

// State returns a session's named values.
func (a *Access) State(ctx context.Context, args *api.StateArgs) (*api.StateResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	s, err := a.find(ctx, args.Address)
	if err != nil {
		return nil, err
	}
	values, err := a.host.store.State(ctx, s.Fence.Incarnation, args.Name)
	if err != nil {
		return nil, err
	}
	if values == nil {
		values = map[string]sessions.StateValue{}
	}
	return &api.StateResult{State: values}, nil
}

// StateSet stores or removes one named value, whatever the session is doing.
// Saves of one value without a version that wait for one being written are
// stored as one, the latest.
func (a *Access) StateSet(ctx context.Context, args *api.StateSetArgs) (*api.StateSetResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	c := sessions.SetState{
		Owner: a.owner(args.Owner), At: args.At(), Name: args.Name,
		Value: args.Raw(), IfVersion: args.IfVersion, Now: a.now(),
	}
	set := a.host.store.SetState
	if c.IfVersion == nil {
		set = a.host.saves.save
	}
	version, err := set(ctx, c)
	if err != nil {
		return nil, err
	}
	return &api.StateSetResult{Version: version}, nil
}
