package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"agenthost/sessions"
)

// Claim returns what is known of a request id; see the port.
func (s *Store) Claim(ctx context.Context, owner sessions.Owner, id sessions.RequestID, now sessions.Time) (sessions.Claim, bool, error) {
	var claim *claimRow
	hash := s.tombs.request(owner, id)
	err := s.readers.read(ctx, func(q querier) (err error) {
		claim, err = findClaim(ctx, q, owner, id, hash, now)
		return err
	})
	if err != nil || claim == nil {
		return sessions.Claim{}, false, err
	}
	return claim.Claim, true, nil
}

// claimRow is what is known of a request id.
type claimRow struct {
	sessions.Claim
	appended int64
}

// selectClaim finds a live claim and, after it, a claim tombstone.
const selectClaim = `SELECT 0, sid, fingerprint, turn_id, appended FROM dedupe_claims
        WHERE owner = ? AND request_id = ? AND (expires_ms IS NULL OR expires_ms > ?)
    UNION ALL
    SELECT 1, sid, fingerprint, '', 0 FROM claim_tombstones WHERE request_hash = ? AND expires_ms > ?`

// findClaim returns the claim or claim tombstone of a request id, nil if none
// is alive at now. hash is the request id's tombstone hash.
func findClaim(ctx context.Context, q querier, owner sessions.Owner, id sessions.RequestID, hash []byte, now sessions.Time) (*claimRow, error) {
	var c claimRow
	var fingerprint []byte
	err := q.row(ctx, selectClaim, owner, id, now, hash, now).
		Scan(&c.Tombstone, &c.Life, &fingerprint, &c.TurnID, &c.appended)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	copy(c.Fingerprint[:], fingerprint)
	return &c, err
}

// repeated judges a request whose id is claimed: nil when it is the same
// request, of a life that goes on.
func (c *claimRow) repeated(fingerprint [32]byte) error {
	switch {
	case c.Fingerprint != fingerprint:
		return sessions.ErrOtherRequest
	case c.Tombstone:
		return sessions.ErrRequestDeleted
	}
	return nil
}

// session returns the session of a claim, SESSION_DELETED when it is no more.
func (c *claimRow) session(t *tx) (*sessionRow, error) {
	session, err := liveSession(always, t, c.Life)
	if err == nil && session == nil {
		err = sessions.ErrRequestDeleted
	}
	return session, err
}

// insertClaim stores a claim, over an expired one if need be. Without an expiry
// it lives until its turn has ended.
func insertClaim(t *tx, owner sessions.Owner, request sessions.Request, c claimRow, expires sql.Null[sessions.Time]) error {
	_, err := t.exec(`INSERT INTO dedupe_claims (owner, request_id, sid, fingerprint, turn_id, appended, expires_ms)
            VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (owner, request_id) DO UPDATE SET sid = excluded.sid, fingerprint = excluded.fingerprint,
            turn_id = excluded.turn_id, appended = excluded.appended, expires_ms = excluded.expires_ms`,
		owner, request.ID, c.Life, request.Fingerprint[:], c.TurnID, c.appended, expires)
	return err
}

// expiresAt is the end of a claim's life.
func expiresAt(t sessions.Time) sql.Null[sessions.Time] {
	return sql.Null[sessions.Time]{V: t, Valid: true}
}
