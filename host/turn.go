package host

import (
	"context"

	"agenthost/host/api"
	"agenthost/sessions"
)

// Turn returns one turn with its answer, at once, or when it is terminal, or with
// api.WaitPending also when it waits for clients: a way
// to a result without sending the prompt again. A turn is there as soon as its
// prompt is accepted, so api.WaitAccepted waits for nothing.
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
	await := a.awaitOf(args.Wait)
	for await != nil && !turn.Status.Terminal() && (args.Wait == api.WaitDone || turn.Status != sessions.TurnIsWaiting) {
		if _, err = await(ctx, s, turn.TurnID); err != nil {
			return nil, err
		}
		// Text that the turn has not read is a turn of its own now.
		if turn, err = a.turn(ctx, s, args); err != nil {
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

// awaitOf returns what waits as it is asked for, nil for nothing.
func (a *Access) awaitOf(wait api.Wait) func(context.Context, sessions.Session, sessions.TurnID) (sessions.Turn, error) {
	switch wait {
	case api.WaitDone:
		return a.host.system.AwaitTurn
	case api.WaitPending:
		return a.host.system.AwaitPending
	default:
		return nil
	}
}

func (a *Access) turn(ctx context.Context, s sessions.Session, args *api.TurnArgs) (sessions.Turn, error) {
	if args.TurnID != "" {
		return a.host.store.Turn(ctx, s.Fence.Incarnation, args.TurnID)
	}
	return a.turnOf(ctx, s, a.faced(args.RequestID))
}

// turnOf returns the turn that answers a request. That of a prompt which steers
// is another's; as long as the request id is remembered its claim names it.
func (a *Access) turnOf(ctx context.Context, s sessions.Session, id sessions.RequestID) (sessions.Turn, error) {
	life := s.Fence.Incarnation
	claim, known, err := a.host.store.Claim(ctx, s.Owner, id, a.now())
	switch {
	case err != nil:
		return sessions.Turn{}, err
	case known && claim.Life == life && claim.TurnID != "":
		return a.host.store.Turn(ctx, life, claim.TurnID)
	default:
		return a.host.store.TurnByRequest(ctx, life, id)
	}
}
