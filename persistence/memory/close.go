package memory

import (
	"context"

	"agenthost/sessions"
)

// CloseSession closes a session without an active turn; see the port.
func (s *Store) CloseSession(ctx context.Context, c sessions.CloseSession) (sessions.ClosedSession, error) {
	return write(ctx, s, func() (sessions.ClosedSession, error) {
		r := s.find(c.Owner, c.At)
		switch {
		case r == nil:
			return sessions.ClosedSession{}, sessions.ErrNoSession
		case r.session.Status == sessions.StatusClosed:
			return sessions.ClosedSession{Session: copySession(r.session)}, nil
		case r.session.ActiveTurn != nil:
			return sessions.ClosedSession{}, r.busy()
		}
		next, err := sessions.Next(r.session.Status, sessions.SessionClosed)
		if err != nil {
			return sessions.ClosedSession{}, sessions.Errorf(sessions.CodeInternal, "The session cannot be closed.").Because(err)
		}
		var frames []sessions.Frame
		for _, p := range r.pendingOf("") {
			end := sessions.TurnEnd{Status: sessions.TurnIsFailed, Error: sessions.ErrSessionClosed.Info(), ClaimTTLMs: p.claimTTLMs}
			_, last := s.endPending(r, p, end, c.Now)
			frames = append(frames, last...)
		}
		r.session.Status, r.session.ClosedAt, r.session.ClosedReason = next, c.Now, c.Reason
		r.session.Fence.Epoch++
		frames = append(frames, r.emit(sessions.Turn{}, c.Now, sessions.Closed{})...)
		return sessions.ClosedSession{Session: copySession(r.session), Frames: frames}, nil
	})
}
