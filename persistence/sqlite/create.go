package sqlite

import (
	"context"

	"agenthost/sessions"
)

// CreateSession stores a new session or returns the stored one; see the port.
func (s *Store) CreateSession(ctx context.Context, c sessions.CreateSession) (sessions.CreatedSession, error) {
	labels, err := encodeLabels(c.Labels)
	if err != nil {
		return sessions.CreatedSession{}, err
	}
	request := newClaimant(s.tombs, c.Owner, c.Request, c.Now)
	return do(ctx, s.writer, func(t *tx) (sessions.CreatedSession, error) {
		claim, err := request.find(t)
		if err != nil {
			return sessions.CreatedSession{}, err
		}
		stored, err := existing(t, c, claim)
		if err != nil {
			return sessions.CreatedSession{}, err
		}
		created := stored == nil
		if created {
			if stored, err = s.bear(t, c, labels); err != nil {
				return sessions.CreatedSession{}, err
			}
		}
		if claim == nil {
			err = request.store(t, stored.Fence.Incarnation, 0)
		}
		return sessions.CreatedSession{Session: stored.Session, Created: created}, err
	})
}

// existing returns the session that a create means, nil if there is none.
func existing(t *tx, c sessions.CreateSession, claim *claimRow) (*sessionRow, error) {
	if claim != nil {
		session, err := liveSession(always, t, claim.Life)
		if err == nil && session == nil {
			err = errDeletedClaim
		}
		return session, err
	}
	var byID, byKey *sessionRow
	var err error
	if c.At.ID != "" {
		if byID, err = findSession(always, t, c.Owner, sessions.Address{ID: c.At.ID}); err != nil {
			return nil, err
		}
	}
	if !c.At.Key.IsZero() {
		if byKey, err = findSession(always, t, c.Owner, sessions.Address{Key: c.At.Key}); err != nil {
			return nil, err
		}
	}
	switch {
	case byID == nil:
		return byKey, nil
	case byKey != nil && byKey.Fence.Incarnation != byID.Fence.Incarnation:
		return nil, sessions.Errorf(sessions.CodeConflict, "The id and the key belong to two different sessions; give one of them.")
	default:
		return byID, nil
	}
}

// bear makes the session, and the parent's record of it.
func (s *Store) bear(t *tx, c sessions.CreateSession, labels string) (*sessionRow, error) {
	n := newSession{owner: c.Owner, id: c.At.ID, target: c.At.Key.Target, profile: c.Profile, epoch: 1,
		title: c.Title, labels: labels, parent: c.ParentID, location: c.ParentLocation, now: c.Now}
	if n.id == "" {
		n.id = c.NewID
	}
	if n.target != "" {
		n.profile = c.At.Key.Profile
	}
	var parent *sessionRow
	if c.ParentID != "" {
		var err error
		if parent, err = findSession(always, t, c.Owner, sessions.Address{ID: c.ParentID}); err != nil {
			return nil, err
		}
		if parent == nil {
			return nil, sessions.Errorf(sessions.CodeSessionNotFound, "The parent session does not exist; create it first.")
		}
	}
	born, err := s.createSession(t, n)
	if err != nil || parent == nil {
		return born, err
	}
	_, err = t.exec(`INSERT INTO sub_session_refs (sid, child_id, location, created_ms) VALUES (?, ?, ?, ?)
        ON CONFLICT (sid, child_id) DO NOTHING`, parent.Fence.Incarnation, n.id, c.ParentLocation, c.Now)
	return born, err
}

// claimant claims the request id of a request other than a prompt, if it has one.
type claimant struct {
	owner   sessions.Owner
	request *sessions.Request
	hash    []byte
	now     sessions.Time
}

func newClaimant(tombs tombstones, owner sessions.Owner, r *sessions.Request, now sessions.Time) claimant {
	if r == nil {
		return claimant{}
	}
	copied := *r
	return claimant{owner, &copied, tombs.request(owner, r.ID), now}
}

// find returns the claim of the same request, nil if there is none, and an
// error if the id is another's or its life is over.
func (c claimant) find(t *tx) (*claimRow, error) {
	if c.request == nil {
		return nil, nil
	}
	claim, err := findClaim(always, t, c.owner, c.request.ID, c.hash, c.now)
	if err != nil || claim == nil {
		return nil, err
	}
	if err := claim.repeated(c.request.Fingerprint); err != nil {
		return nil, err
	}
	if claim.TurnID != "" {
		return nil, errConflict
	}
	return claim, nil
}

// store claims the id for a life. The request has ended with it.
func (c claimant) store(t *tx, life sessions.Incarnation, appended int64) error {
	if c.request == nil {
		return nil
	}
	row := claimRow{Claim: sessions.Claim{Life: life}, appended: appended}
	return insertClaim(t, c.owner, *c.request, row, expiresAt(c.now+sessions.Time(c.request.TTLMs)))
}
