package memory

import (
	"context"

	"agenthost/sessions"
)

// StartTurn starts the first queued turn; see the port.
func (s *Store) StartTurn(ctx context.Context, c sessions.StartTurn) (sessions.AcceptedTurn, bool, error) {
	started, err := write(ctx, s, func() (*sessions.AcceptedTurn, error) {
		r := s.lives[c.Fence.Incarnation]
		if r == nil || r.session.Fence != c.Fence {
			return nil, sessions.ErrFenced
		}
		p := r.firstQueued()
		if p == nil || r.session.ActiveTurn != nil {
			return nil, nil
		}
		next, err := sessions.Next(r.session.Status, sessions.TurnStarted)
		if err != nil {
			return nil, sessions.Errorf(sessions.CodeInternal, "The session cannot start a queued turn.").Because(err)
		}
		return new(r.startQueued(p, next, c.Now)), nil
	})
	if err != nil || started == nil {
		return sessions.AcceptedTurn{}, false, err
	}
	return *started, true, nil
}

func (r *record) startQueued(p *prompt, next sessions.Status, now sessions.Time) sessions.AcceptedTurn {
	t := r.turn(p.turn.TurnID)
	r.removePending(p)
	r.append(sessions.Message{Role: sessions.RoleUser, Content: p.content, TurnID: t.TurnID, CreatedAt: now})
	user := copyMessage(r.messages[len(r.messages)-1])
	t.Status, t.StartedAt, t.FirstFrame, t.UserSeq = sessions.TurnIsRunning, now, r.session.LastFrame+1, user.Seq
	r.session.Status = next
	r.session.Queued--
	r.session.ActiveTurn = &sessions.ActiveTurn{TurnID: t.TurnID, RequestID: t.RequestID, Status: t.Status, StartedAt: now}
	frames := r.emit(t.Turn, now, sessions.Accepted{QueuedMs: max(int64(now-t.CreatedAt), 1)}, sessions.Started{},
		sessions.MessageAppended{Message: user})
	return sessions.AcceptedTurn{Session: copySession(r.session), Turn: copyTurn(t.Turn), User: &user, Frames: frames}
}
