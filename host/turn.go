package host

import (
	"context"

	"agenthost/host/api"
	"agenthost/sessions"
)

// Turn returns one turn with its answer, at once or when it is terminal: a way
// to a result without sending the prompt again.
func (a *Access) Turn(ctx context.Context, args *api.TurnArgs) (*api.TurnResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	s, err := a.find(ctx, args.Address)
	if err != nil {
		return nil, err
	}
	turn, err := a.turn(ctx, s, args)
	if err != nil {
		return nil, err
	}
	if waits := args.Wait == api.WaitDone || args.Wait == api.WaitPending; waits && !turn.Status.Terminal() {
		if turn, err = a.host.system.AwaitTurn(ctx, s, turn.TurnID); err != nil {
			return nil, err
		}
	}
	result := &api.TurnResult{Turn: api.TurnWithAnswer{Turn: turn}}
	if turn.FinalSeq > 0 {
		page, err := a.host.store.Messages(ctx, s.Fence.Incarnation, sessions.MessageQuery{AfterSeq: turn.FinalSeq - 1, Limit: 1})
		if err != nil {
			return nil, err
		}
		result.Turn.Message = &page.Messages[0]
	}
	return result, nil
}

func (a *Access) turn(ctx context.Context, s sessions.Session, args *api.TurnArgs) (sessions.Turn, error) {
	if args.TurnID != "" {
		return a.host.store.Turn(ctx, s.Fence.Incarnation, args.TurnID)
	}
	return a.host.store.TurnByRequest(ctx, s.Fence.Incarnation, args.RequestID)
}
