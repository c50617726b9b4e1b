package memory

import (
	"context"

	"agenthost/sessions"
)

// ClaimRequest claims a request id; see the port.
func (s *Store) ClaimRequest(ctx context.Context, c sessions.ClaimRequest) (sessions.ClaimedRequest, error) {
	return write(ctx, s, func() (sessions.ClaimedRequest, error) {
		key := ownRequest{c.Owner, c.Request.ID}
		known, tombstone, found := s.claimed(key, c.Now)
		switch {
		case found && known.fingerprint != c.Request.Fingerprint:
			return sessions.ClaimedRequest{}, sessions.ErrOtherRequest
		case tombstone:
			return sessions.ClaimedRequest{}, sessions.ErrRequestDeleted
		case found:
			return sessions.ClaimedRequest{Session: copySession(s.lives[known.life].session), TurnID: known.turnID, Duplicate: true}, nil
		}
		r := s.find(c.Owner, c.At)
		if r == nil {
			return sessions.ClaimedRequest{}, sessions.ErrNoSession
		}
		var first sessions.TurnID
		if r.session.ActiveTurn != nil {
			first = r.session.ActiveTurn.TurnID
		} else if queued := r.pendingOf(""); len(queued) > 0 {
			first = queued[0].turn.TurnID
		}
		s.claims[key] = claim{life: r.life(), turnID: first, fingerprint: c.Request.Fingerprint, expires: c.Now + sessions.Time(c.Request.TTLMs)}
		return sessions.ClaimedRequest{Session: copySession(r.session), TurnID: first}, nil
	})
}
