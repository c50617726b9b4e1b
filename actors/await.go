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
	return s.deps.awaitTurn(ctx, session, id, sessions.TurnStatus.Terminal)
}

// AwaitPending is AwaitTurn, but also returns a turn that waits for clients.
func (s *System) AwaitPending(ctx context.Context, session sessions.Session, id sessions.TurnID) (sessions.Turn, error) {
	return s.deps.awaitTurn(ctx, session, id, func(s sessions.TurnStatus) bool { return s.Terminal() || s == sessions.TurnIsWaiting })
}

// awaitTurn waits until a turn's status is enough.
func (d *deps) awaitTurn(
	ctx context.Context, s sessions.Session, id sessions.TurnID, enough func(sessions.TurnStatus) bool,
) (sessions.Turn, error) {
	life := s.Fence.Incarnation
	turn, err := d.store.Turn(ctx, life, id)
	if err != nil || enough(turn.Status) {
		return turn, err
	}
	sub := d.feed.NewStream() // which never ends as slow
	defer sub.Close()
	d.feed.Attach(sub, s.Owner, life, id, s.LastFrame, true)
	for {
		frame, err := sub.Next(ctx)
		if err != nil {
			return turn, endedWait(err, id)
		}
		if t := frame.Type(); t.Terminal() || t == sessions.FrameWaiting {
			// Behind a frame that was read late the turn may have gone on.
			if turn, err = d.store.Turn(ctx, life, id); err != nil || enough(turn.Status) {
				return turn, err
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
