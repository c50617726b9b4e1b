package host

import (
	"context"
	"errors"

	"agenthost/actors/feed"
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
		if turn, err = a.awaitTurn(ctx, s, turn); err != nil {
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

// awaitTurn follows the session from what was read of it until the turn's
// terminal frame, then reads the turn again.
func (a *Access) awaitTurn(ctx context.Context, s sessions.Session, turn sessions.Turn) (sessions.Turn, error) {
	life := s.Fence.Incarnation
	sub := a.host.system.Feed().NewStream() // which never ends as slow
	defer sub.Close()
	a.host.system.Feed().Attach(sub, s.Owner, life, s.LastFrame, true)
	for {
		frame, err := sub.Next(ctx)
		if err != nil {
			return turn, endedWait(err)
		}
		if frame.TurnID == turn.TurnID && frame.Type().Terminal() {
			return a.host.store.Turn(ctx, life, turn.TurnID)
		}
	}
}

// endedWait is the answer to a wait whose subscription has ended before the turn:
// the host stops, or the session was deleted.
func endedWait(err error) error {
	end, ended := errors.AsType[*feed.EndError](err)
	switch {
	case !ended:
		return err
	case end.Reason == feed.Stopping:
		return sessions.Errorf(sessions.CodeHostStopping, "The host is shutting down; ask again after its restart.")
	default:
		return sessions.Errorf(sessions.CodeSessionDeleted, "The session was deleted while its turn was waited for.")
	}
}
