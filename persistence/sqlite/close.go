package sqlite

import (
	"context"

	"agenthost/sessions"
)

// CloseSession closes a session without an active turn; see the port.
func (s *Store) CloseSession(ctx context.Context, c sessions.CloseSession) (sessions.ClosedSession, error) {
	return do(ctx, s.writer, func(t *tx) (sessions.ClosedSession, error) {
		var none sessions.ClosedSession
		session, err := findSession(always, t, c.Owner, c.At)
		switch {
		case err != nil:
			return none, err
		case session == nil:
			return none, sessions.ErrNoSession
		case session.Status == sessions.StatusClosed:
			return sessions.ClosedSession{Session: session.Session}, nil
		case session.ActiveTurn != nil:
			return none, sessions.ErrSessionBusy.With("turnId", session.ActiveTurn.TurnID)
		}
		next, err := sessions.Next(session.Status, sessions.SessionClosed)
		if err != nil {
			return none, sessions.Errorf(sessions.CodeInternal, "The session cannot be closed.").Because(err)
		}
		frames, err := endQueued(t, session, c.Now)
		if err != nil {
			return none, err
		}
		life := session.Fence.Incarnation
		session.LastFrame++
		n, err := t.exec(`UPDATE sessions SET status = ?, epoch = epoch + 1, closed_ms = ?, closed_reason = ?,
                frame_count = ?, queued = 0 WHERE sid = ? AND epoch = ? AND deleted_ms IS NULL`,
			next, c.Now, c.Reason, session.LastFrame, life, session.Fence.Epoch)
		if err := fencedUnlessOne(n, err); err != nil {
			return none, err
		}
		frame := sessions.Frame{Seq: session.LastFrame, Cursor: sessions.CursorAt(life, session.LastFrame), At: c.Now, Body: sessions.Closed{}}
		last := frameBatch{life: life, first: frame.Seq, at: c.Now, last: true,
			rows: []frameRow{{kind: sessions.FrameSessionClosed, body: emptyBody}}}
		if err := t.frames(session).append(t, last); err != nil {
			return none, err
		}
		closed, err := liveSession(always, t, life)
		if err != nil {
			return none, err
		}
		return sessions.ClosedSession{Session: closed.Session, Frames: append(frames, frame)}, nil
	})
}

// endQueued ends the queued turns of a session that closes, in the order in which
// they would have started.
func endQueued(t *tx, session *sessionRow, now sessions.Time) (frames []sessions.Frame, err error) {
	if session.Queued == 0 {
		return nil, nil
	}
	queued, err := pendingOf(t, session.Fence.Incarnation, 0)
	for i := 0; err == nil && i < len(queued); i++ {
		end := sessions.TurnEnd{Status: sessions.TurnIsFailed, Error: sessions.ErrSessionClosed.Info(), ClaimTTLMs: queued[i].claimTTLMs}
		var frame sessions.Frame
		_, frame, err = endPending(t, session, queued[i], end, now)
		frames = append(frames, frame)
	}
	return frames, err
}
