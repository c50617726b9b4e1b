package actors

import (
	"context"
	"errors"

	"agenthost/actors/feed"
	"agenthost/sessions"
)

// AwaitTurn follows a session from what was read of it until one of its turns,
// which may be queued, is terminal, and returns that turn. SESSION_DELETED when the session ends first,
// HOST_STOPPING when the host does; ctx's error when ctx ends. None of them
// touches the turn.
func (s *System) AwaitTurn(ctx context.Context, session sessions.Session, id sessions.TurnID) (sessions.Turn, error) {
	turn, _, err := s.deps.awaitTurn(ctx, session, id, false)
	return turn, err
}

// AwaitPending is AwaitTurn, but also returns a turn that waits for clients, with
// its calls that are not answered, at least one. A turn whose calls are all answered
// is about to go on, and is awaited.
func (s *System) AwaitPending(ctx context.Context, session sessions.Session, id sessions.TurnID) (sessions.Turn, []sessions.Pending, error) {
	return s.deps.awaitTurn(ctx, session, id, true)
}

// awaitTurn waits until a turn is terminal or, if asked, waits for clients.
func (d *deps) awaitTurn(
	ctx context.Context, s sessions.Session, id sessions.TurnID, untilWaiting bool,
) (sessions.Turn, []sessions.Pending, error) {
	look := func() (turn sessions.Turn, open []sessions.Pending, enough bool, err error) {
		turn, err = d.store.Turn(ctx, s.Fence.Incarnation, id)
		if err == nil && untilWaiting && turn.Status == sessions.TurnIsWaiting {
			var now sessions.Session
			now, err = d.store.Session(ctx, s.Owner, sessions.Address{ID: s.ID})
			open = now.Awaits(id)
		}
		return turn, open, err != nil || turn.Status.Terminal() || len(open) > 0, err
	}
	turn, open, enough, err := look()
	if enough {
		return turn, open, err
	}
	sub := d.feed.NewStream() // which never ends as slow
	defer sub.Close()
	d.feed.Attach(sub, s.Owner, s.Fence.Incarnation, id, s.LastFrame, true)
	for {
		frame, err := sub.Next(ctx)
		if err != nil {
			return turn, nil, endedWait(err, id)
		}
		if t := frame.Type(); t.Terminal() || t == sessions.FrameWaiting {
			// Behind a frame that was read late the turn may have gone on.
			if turn, open, enough, err = look(); enough {
				return turn, open, err
			}
		}
	}
}

// endedWait is the answer to a wait whose subscription has ended before the turn:
// the host stops, or the session was deleted.
func endedWait(err error, id sessions.TurnID) error {
	end, ended := errors.AsType[*feed.EndError](err)
	switch {
	case !ended:
		return err
	case end.Reason == feed.Stopping:
		return sessions.Errorf(sessions.CodeHostStopping, "The host is shutting down; ask again after its restart.").With("turnId", id)
	default:
		return sessions.Errorf(sessions.CodeSessionDeleted, "The session was deleted while its turn was waited for.")
	}
}
