package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"agenthost/sessions"
)

// ClaimRequest claims a request id; see the port.
func (s *Store) ClaimRequest(ctx context.Context, c sessions.ClaimRequest) (sessions.ClaimedRequest, error) {
	hash := s.tombs.request(c.Owner, c.Request.ID)
	return do(ctx, s.writer, func(t *tx) (sessions.ClaimedRequest, error) {
		var none sessions.ClaimedRequest
		claim, err := findClaim(always, t, c.Owner, c.Request.ID, hash, c.Now)
		if err != nil {
			return none, err
		}
		if claim != nil {
			if err := claim.repeated(c.Request.Fingerprint); err != nil {
				return none, err
			}
			session, err := claim.session(t)
			if err != nil {
				return none, err
			}
			return sessions.ClaimedRequest{Session: session.Session, TurnID: claim.TurnID, Duplicate: true}, nil
		}
		session, err := findSession(always, t, c.Owner, c.At)
		switch {
		case err != nil:
			return none, err
		case session == nil:
			return none, sessions.ErrNoSession
		}
		first, err := firstTurn(t, session)
		if err != nil {
			return none, err
		}
		row := claimRow{Claim: sessions.Claim{Life: session.Fence.Incarnation, TurnID: first}}
		err = insertClaim(t, c.Owner, c.Request, row, expiresAt(c.Now+sessions.Time(c.Request.TTLMs)))
		return sessions.ClaimedRequest{Session: session.Session, TurnID: first}, err
	})
}

// firstTurn returns the session's active turn, else the one that would start
// first, "" when there is none.
func firstTurn(t *tx, session *sessionRow) (id sessions.TurnID, err error) {
	if session.ActiveTurn != nil {
		return session.ActiveTurn.TurnID, nil
	}
	err = t.row(always, "SELECT turn_id FROM pending_prompts WHERE sid = ? AND waits_for = 0 ORDER BY place, num LIMIT 1",
		session.Fence.Incarnation).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return id, err
}
