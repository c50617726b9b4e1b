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
	open := s.Awaits(turn.TurnID)
	for waits(args.Wait, turn, open) {
		awaited := turn.TurnID
		if open, err = a.await(ctx, s, awaited, args.Wait); err != nil {
			return nil, err
		}
		// Text that the turn has not read is a turn of its own now.
		if turn, err = a.turn(ctx, s, args); err != nil {
			return nil, err
		}
		if turn.TurnID != awaited {
			open = nil
		}
	}
	result := &api.TurnResult{Turn: api.TurnWithAnswer{Turn: turn}}
	if turn.Status == sessions.TurnIsWaiting {
		result.Pending = open
	}
	if turn.FinalSeq > 0 {
		page, err := a.host.store.Messages(ctx, s.Fence.Incarnation, sessions.MessageQuery{AfterSeq: turn.FinalSeq - 1, Limit: 1})
		if err != nil {
			return nil, err
		}
		result.Turn.Message = &page.Messages[0]
	}
	return result, nil
}

// waits reports whether a turn is to be awaited.
func waits(wait api.Wait, turn sessions.Turn, open []sessions.Pending) bool {
	switch {
	case turn.Status.Terminal():
		return false
	case wait == api.WaitPending:
		return turn.Status != sessions.TurnIsWaiting || len(open) == 0
	default:
		return wait == api.WaitDone
	}
}

// await waits for a turn as it is asked for, and returns the calls it waits for.
func (a *Access) await(ctx context.Context, s sessions.Session, id sessions.TurnID, wait api.Wait) (open []sessions.Pending, err error) {
	if wait == api.WaitPending {
		_, open, err = a.host.system.AwaitPending(ctx, s, id)
	} else {
		_, err = a.host.system.AwaitTurn(ctx, s, id)
	}
	return open, err
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
