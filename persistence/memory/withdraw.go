package memory

import (
	"context"

	"agenthost/sessions"
)

// WithdrawTurn ends a queued turn; see the port.
func (s *Store) WithdrawTurn(ctx context.Context, c sessions.WithdrawTurn) (sessions.WithdrawnTurn, bool, error) {
	withdrawn, err := write(ctx, s, func() (*sessions.WithdrawnTurn, error) {
		r := s.lives[c.Fence.Incarnation]
		if r == nil || r.session.Fence != c.Fence {
			return nil, sessions.ErrFenced
		}
		p := r.findPending(c.RequestID)
		if p == nil {
			return nil, nil
		}
		end := sessions.TurnEnd{Status: sessions.TurnIsCancelled, ClaimTTLMs: c.ClaimTTLMs}
		if c.Failure != nil {
			end.Status, end.Error = sessions.TurnIsFailed, c.Failure
		}
		t, frames := s.endPending(r, p, end, c.Now)
		return &sessions.WithdrawnTurn{Session: copySession(r.session), Turn: copyTurn(t.Turn), Frames: frames}, nil
	})
	if err != nil || withdrawn == nil {
		return sessions.WithdrawnTurn{}, false, err
	}
	return *withdrawn, true, nil
}
