package sqlite

import (
	"context"

	"agenthost/sessions"
)

// sweeps remove, chunk by chunk, what has expired.
var sweeps = []string{
	`DELETE FROM dedupe_claims WHERE (owner, request_id) IN (SELECT owner, request_id FROM dedupe_claims
        INDEXED BY dedupe_claims_expiring WHERE expires_ms IS NOT NULL AND expires_ms <= ? LIMIT ?)`,
	`DELETE FROM claim_tombstones WHERE request_hash IN (SELECT request_hash FROM claim_tombstones
        INDEXED BY claim_tombstones_expiring WHERE expires_ms <= ? LIMIT ?)`,
	`DELETE FROM session_tombstones WHERE session_hash IN (SELECT session_hash FROM session_tombstones
        INDEXED BY session_tombstones_expiring WHERE expires_ms <= ? LIMIT ?)`,
	`DELETE FROM agent_claims WHERE request_hash IN (SELECT request_hash FROM agent_claims
        INDEXED BY agent_claims_expiring WHERE expires_ms <= ? LIMIT ?)`,
	`DELETE FROM agent_tombstones WHERE agent_hash IN (SELECT agent_hash FROM agent_tombstones
        INDEXED BY agent_tombstones_expiring WHERE expires_ms <= ? LIMIT ?)`,
}

// Sweep removes what has expired and what deletes have left; see the port.
func (s *Store) Sweep(ctx context.Context, now sessions.Time) error {
	for _, statement := range sweeps {
		err := s.inChunks(ctx, func(t *tx) (bool, error) {
			n, err := t.exec(statement, now, chunkRows)
			return n < chunkRows, err
		})
		if err != nil {
			return err
		}
	}
	if err := s.removeLeftovers(ctx, ""); err != nil {
		return translate(err)
	}
	s.takeInBallast()
	return s.sweepStrays(ctx)
}

// sweepStrays removes, once after a crash, the files that nothing tells of.
func (s *Store) sweepStrays(ctx context.Context) error {
	if s.tidy.Swap(true) {
		return nil
	}
	err := s.removeStrays(ctx)
	if err != nil {
		s.tidy.Store(false)
	}
	return translate(err)
}

// inChunks runs f in transactions of its own until it is done.
func (s *Store) inChunks(ctx context.Context, f func(*tx) (bool, error)) error {
	for {
		if done, err := do(ctx, s.writer, f); err != nil || done {
			return err
		}
	}
}
