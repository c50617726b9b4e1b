package memory

import (
	"context"

	"agenthost/sessions"
)

// claim is what is known of a request id.
type claim struct {
	life        sessions.Incarnation
	fingerprint [32]byte
	turnID      sessions.TurnID // "" for a request other than a prompt
	appended    int             // by a seed
	expires     sessions.Time   // 0 until the request has ended
}

func (c claim) alive(now sessions.Time) bool { return c.expires == 0 || c.expires > now }

// claimed returns the claim or claim tombstone of a request id.
func (s *Store) claimed(r ownRequest, now sessions.Time) (c claim, tombstone, found bool) {
	if c, found := s.claims[r]; found && c.alive(now) {
		return c, false, true
	}
	if g, found := s.claimGraves[s.requestHash(r)]; found && g.expires > now {
		return claim{life: g.life, fingerprint: g.fingerprint}, true, true
	}
	return claim{}, false, false
}

// Claim returns what is known of a request id; see the port.
func (s *Store) Claim(ctx context.Context, owner sessions.Owner, id sessions.RequestID, now sessions.Time) (sessions.Claim, bool, error) {
	var found bool
	answer, err := read(ctx, s, func() (sessions.Claim, error) {
		c, tombstone, ok := s.claimed(ownRequest{owner, id}, now)
		found = ok
		return sessions.Claim{Fingerprint: c.fingerprint, Life: c.life, TurnID: c.turnID, Tombstone: tombstone}, nil
	})
	return answer, found, err
}

// repeated returns the claim of the same request, nil if there is none, and an
// error if the id is another request's or its life is over. turns says whether
// the request is a prompt.
func (s *Store) repeated(owner sessions.Owner, r *sessions.Request, now sessions.Time, turns bool) (*claim, error) {
	if r == nil {
		return nil, nil
	}
	c, tombstone, found := s.claimed(ownRequest{owner, r.ID}, now)
	switch {
	case !found:
		return nil, nil
	case c.fingerprint != r.Fingerprint:
		return nil, sessions.ErrOtherRequest
	case tombstone:
		return nil, sessions.ErrRequestDeleted
	case (c.turnID != "") != turns:
		return nil, sessions.ErrOtherRequest
	}
	return &c, nil
}

// claim remembers a request that has ended with the life it made or changed.
func (s *Store) claim(owner sessions.Owner, r *sessions.Request, of *record, appended int, now sessions.Time) {
	if r != nil {
		s.claims[ownRequest{owner, r.ID}] = claim{life: of.life(), fingerprint: r.Fingerprint, appended: appended,
			expires: now + sessions.Time(r.TTLMs)}
	}
}
