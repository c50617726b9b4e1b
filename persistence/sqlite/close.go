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
		life := session.Fence.Incarnation
		n, err := t.exec(`UPDATE sessions SET status = ?, epoch = epoch + 1, closed_ms = ?, closed_reason = ?,
                frame_count = frame_count + 1 WHERE sid = ? AND epoch = ? AND deleted_ms IS NULL`,
			next, c.Now, c.Reason, life, session.Fence.Epoch)
		if err := fencedUnlessOne(n, err); err != nil {
			return none, err
		}
		frame := sessions.Frame{Seq: session.LastFrame + 1, Cursor: sessions.CursorAt(life, session.LastFrame+1), At: c.Now, Body: sessions.Closed{}}
		last := frameBatch{life: life, first: frame.Seq, at: c.Now, last: true,
			rows: []frameRow{{kind: sessions.FrameSessionClosed, body: emptyBody}}}
		if err := t.frames(session).append(t, last); err != nil {
			return none, err
		}
		closed, err := liveSession(always, t, life)
		if err != nil {
			return none, err
		}
		return sessions.ClosedSession{Session: closed.Session, Frames: []sessions.Frame{frame}}, nil
	})
}
