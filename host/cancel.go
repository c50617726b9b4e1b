package host

import (
	"context"

	"agenthost/actors"
	"agenthost/host/api"
	"agenthost/sessions"
)

// Cancel cancels a session's active turn, if it is the one meant, or its side
// question.
func (a *Access) Cancel(ctx context.Context, args *api.CancelArgs) (*api.CancelResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	cancelled, err := a.host.system.Cancel(ctx, actors.Cancel{
		Owner: a.owner(args.Owner), At: args.At(), RequestID: a.faced(args.RequestID), SideQuestion: args.SideQuestion,
	})
	if err != nil {
		return nil, err
	}
	return &api.CancelResult{Cancelled: cancelled}, nil
}

// CancelTurn cancels one turn of a session, or withdraws it while it is queued. It
// reports false when the turn has ended; a later turn is never meant. NOT_FOUND
// when the session has no such turn.
func (a *Access) CancelTurn(ctx context.Context, at api.Address, id sessions.TurnID) (bool, error) {
	if err := a.check(&api.TurnArgs{Address: at, TurnID: id}); err != nil {
		return false, err
	}
	s, err := a.find(ctx, at)
	if err != nil {
		return false, err
	}
	turn, err := a.host.store.Turn(ctx, s.Fence.Incarnation, id)
	if err != nil || turn.Status.Terminal() {
		return false, err
	}
	return a.host.system.Cancel(ctx, actors.Cancel{Owner: s.Owner, At: at.At(), RequestID: turn.RequestID})
}
