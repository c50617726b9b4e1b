package memory

import (
	"context"
	"slices"

	"agenthost/sessions"
)

// ref returns the ref that a session has for the same session, call or companion
// as another one, nil if it has none.
func (r *record) ref(like sessions.Ref) *sessions.Ref {
	for _, same := range []func(sessions.Ref) bool{
		func(have sessions.Ref) bool { return like.SessionID != "" && have.SessionID == like.SessionID },
		func(have sessions.Ref) bool {
			return like.CallID != "" && have.CallID == like.CallID && have.TurnID == like.TurnID
		},
		func(have sessions.Ref) bool {
			return like.Name != "" && have.Name == like.Name && have.Host == like.Host && have.ProfileKey == like.ProfileKey
		},
	} {
		if i := slices.IndexFunc(r.refs, same); i >= 0 {
			return &r.refs[i]
		}
	}
	return nil
}

// addRef stores a ref unless the session has it, and returns the stored one.
func (r *record) addRef(ref sessions.Ref) sessions.Ref {
	if have := r.ref(ref); have != nil {
		return *have
	}
	r.refs = append(r.refs, ref)
	return ref
}

// shown is a ref as it is read: the status of a local child is its session's.
func (s *Store) shown(owner sessions.Owner, ref sessions.Ref) sessions.Ref {
	if ref.Location == sessions.Remote {
		return ref
	}
	ref.Status, ref.EndedAt = sessions.RefGone, 0
	if child := s.find(owner, sessions.Address{ID: ref.SessionID}); child != nil {
		ref.Status, ref.EndedAt = sessions.RefStatus(child.session.Status), child.session.ClosedAt
	}
	return ref
}

// AddRefs stores refs unless they are there; see the port.
func (s *Store) AddRefs(ctx context.Context, parent sessions.Incarnation, refs []sessions.Ref) ([]sessions.Ref, error) {
	for _, ref := range refs {
		if err := ref.Location.Check("/location"); err != nil {
			return nil, err
		}
	}
	return write(ctx, s, func() ([]sessions.Ref, error) {
		r := s.lives[parent]
		if r == nil {
			return nil, sessions.ErrFenced
		}
		stored := make([]sessions.Ref, len(refs))
		for i, ref := range refs {
			stored[i] = s.shown(r.session.Owner, r.addRef(ref))
		}
		return stored, nil
	})
}

// remoteRef returns where a session keeps its ref to a remote child, -1 if
// nowhere.
func (r *record) remoteRef(child sessions.SessionID) int {
	return slices.IndexFunc(r.refs, func(ref sessions.Ref) bool { return ref.SessionID == child && ref.Location == sessions.Remote })
}

// SettleRef changes the status of a remote ref; see the port.
func (s *Store) SettleRef(ctx context.Context, c sessions.SettleRef) error {
	_, err := write(ctx, s, func() (bool, error) {
		r := s.lives[c.Parent]
		if r == nil {
			return false, sessions.ErrFenced
		}
		i := r.remoteRef(c.Child)
		if i < 0 {
			return false, sessions.ErrNoRef
		}
		if r.refs[i].Status == sessions.RefClosed {
			return false, nil
		}
		r.refs[i].Status, r.refs[i].EndedAt = c.Status, 0
		if c.Status.Ended() {
			r.refs[i].EndedAt = c.Now
		}
		return true, nil
	})
	return err
}

// RemoveRef forgets a remote ref; see the port.
func (s *Store) RemoveRef(ctx context.Context, parent sessions.Incarnation, child sessions.SessionID) error {
	_, err := write(ctx, s, func() (bool, error) {
		r := s.lives[parent]
		if r == nil {
			return false, sessions.ErrFenced
		}
		i := r.remoteRef(child)
		if i >= 0 {
			r.refs = slices.Delete(r.refs, i, i+1)
		}
		return i >= 0, nil
	})
	return err
}

// Refs returns the refs of a life; see the port.
func (s *Store) Refs(ctx context.Context, parent sessions.Incarnation) ([]sessions.Ref, error) {
	return ofLife(ctx, s, parent, func(r *record) ([]sessions.Ref, error) {
		return copyAll(r.refs, func(ref sessions.Ref) sessions.Ref { return s.shown(r.session.Owner, ref) }), nil
	})
}
