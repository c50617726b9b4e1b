package sqlite

import (
	"cmp"
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
	state := sealedState(c.State)
	c.State = nil // the caller's, and sealed by now
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
			if err := saveState(t, stored.Fence.Incarnation, state, c.Now); err != nil {
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
			err = sessions.ErrRequestDeleted
		}
		return session, err
	}
	if child, err := childOf(t, c); err != nil || child != nil {
		return child, err
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
		return nil, sessions.ErrTwoSessions
	default:
		return byID, nil
	}
}

// childOf returns the session that the parent has for the same call already, nil
// if it has none.
func childOf(t *tx, c sessions.CreateSession) (*sessionRow, error) {
	if c.ParentID == "" || c.Call == (sessions.ChildCall{}) {
		return nil, nil
	}
	parent, err := parentOf(t, c)
	if err != nil {
		return nil, err
	}
	ref, known, err := findRef(t, parent.Fence.Incarnation,
		sessions.Ref{TurnID: c.Call.TurnID, CallID: c.Call.CallID, Name: c.Call.Name, ProfileKey: profileOf(c)})
	if err != nil || !known {
		return nil, err
	}
	child, err := findSession(always, t, c.Owner, sessions.Address{ID: ref.SessionID})
	if err == nil && child == nil {
		err = sessions.ErrNoChild
	}
	return child, err
}

func parentOf(t *tx, c sessions.CreateSession) (*sessionRow, error) {
	parent, err := findSession(always, t, c.Owner, sessions.Address{ID: c.ParentID})
	switch {
	case err != nil:
		return nil, err
	case parent == nil:
		return nil, sessions.ErrNoParent
	case c.Call.Life != 0 && c.Call.Life != parent.Fence.Incarnation:
		return nil, sessions.ErrFenced
	}
	return parent, nil
}

func profileOf(c sessions.CreateSession) string {
	if c.At.Key.IsZero() {
		return c.Profile
	}
	return c.At.Key.Profile
}

// bear makes the session, and the parent's record of it.
func (s *Store) bear(t *tx, c sessions.CreateSession, labels string) (*sessionRow, error) {
	n := newSession{owner: c.Owner, id: cmp.Or(c.At.ID, c.NewID), target: c.At.Key.Target, profile: profileOf(c), agent: c.AgentID, epoch: 1,
		title: c.Title, labels: labels, parent: c.ParentID, location: c.ParentLocation, now: c.Now}
	if c.ParentID == "" {
		return s.createSession(t, n)
	}
	parent, err := parentOf(t, c)
	if err != nil {
		return nil, err
	}
	if err := requireLocations(t, parent.Fence.Incarnation); err != nil {
		return nil, err
	}
	born, err := s.createSession(t, n)
	if err != nil {
		return nil, err
	}
	ref := sessions.Ref{SessionID: n.id, Location: n.location, ProfileKey: n.profile, Name: c.Call.Name,
		TurnID: c.Call.TurnID, CallID: c.Call.CallID, CreatedAt: c.Now}
	if ref.Location == sessions.Remote {
		ref.Status = sessions.RefIdle
	}
	_, err = addRef(t, parent.Fence.Incarnation, ref)
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
		return nil, sessions.ErrOtherRequest
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
