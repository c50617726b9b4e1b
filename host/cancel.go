package host

import (
	"context"

	"agenthost/actors"
	"agenthost/host/api"
	"agenthost/sessions"
)

// Cancel cancels a session's active turn, if it is the one meant.
func (a *Access) Cancel(ctx context.Context, args *api.CancelArgs) (*api.CancelResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	if args.SideQuestion {
		return nil, sessions.Errorf(sessions.CodeNotSupported, "This version has no side questions to cancel; leave sideQuestion out.").
			With("field", "/args/sideQuestion")
	}
	cancelled, err := a.host.system.Cancel(ctx, actors.Cancel{Owner: a.owner(args.Owner), At: args.At(), RequestID: args.RequestID})
	if err != nil {
		return nil, err
	}
	return &api.CancelResult{Cancelled: cancelled}, nil
}
