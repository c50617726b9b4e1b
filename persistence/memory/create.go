package memory

import (
	"cmp"
	"context"

	"agenthost/sessions"
)

// CreateSession stores a new session or returns the stored one; see the port.
func (s *Store) CreateSession(ctx context.Context, c sessions.CreateSession) (sessions.CreatedSession, error) {
	return write(ctx, s, func() (sessions.CreatedSession, error) {
		claimed, err := s.repeated(c.Owner, c.Request, c.Now, false)
		if err != nil {
			return sessions.CreatedSession{}, err
		}
		var stored *record
		if claimed != nil {
			stored = s.lives[claimed.life]
		} else if stored, err = s.existing(c); err != nil {
			return sessions.CreatedSession{}, err
		}
		created := stored == nil
		if created {
			if stored, err = s.bear(c); err != nil {
				return sessions.CreatedSession{}, err
			}
			for name, raw := range c.State {
				stored.set(name, stateOf(raw), c.Now)
			}
		}
		if claimed == nil {
			s.claim(c.Owner, c.Request, stored, 0, c.Now)
		}
		return sessions.CreatedSession{Session: copySession(stored.session), Created: created}, nil
	})
}

// existing returns the session that a create means, nil if there is none.
func (s *Store) existing(c sessions.CreateSession) (*record, error) {
	if child, err := s.childOf(c); err != nil || child != nil {
		return child, err
	}
	var byID, byKey *record
	if c.At.ID != "" {
		byID = s.find(c.Owner, sessions.Address{ID: c.At.ID})
	}
	if !c.At.Key.IsZero() {
		byKey = s.find(c.Owner, sessions.Address{Key: c.At.Key})
	}
	switch {
	case byID == nil:
		return byKey, nil
	case byKey != nil && byKey != byID:
		return nil, sessions.ErrTwoSessions
	}
	return byID, nil
}

// childOf returns the session that the parent has for the same call already, nil
// if it has none.
func (s *Store) childOf(c sessions.CreateSession) (*record, error) {
	if c.ParentID == "" || c.Call == (sessions.ChildCall{}) {
		return nil, nil
	}
	parent, err := s.parentOf(c)
	if err != nil {
		return nil, err
	}
	ref := parent.ref(refOf(c, ""))
	if ref == nil {
		return nil, nil
	}
	child := s.find(c.Owner, sessions.Address{ID: ref.SessionID})
	if child == nil {
		return nil, sessions.ErrNoChild
	}
	return child, nil
}

func (s *Store) parentOf(c sessions.CreateSession) (*record, error) {
	parent := s.find(c.Owner, sessions.Address{ID: c.ParentID})
	switch {
	case parent == nil:
		return nil, sessions.ErrNoParent
	case c.Call.Life != 0 && c.Call.Life != parent.life():
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

// refOf is the parent's record of a child that is made.
func refOf(c sessions.CreateSession, child sessions.SessionID) sessions.Ref {
	ref := sessions.Ref{SessionID: child, Location: c.ParentLocation, ProfileKey: profileOf(c), Name: c.Call.Name,
		TurnID: c.Call.TurnID, CallID: c.Call.CallID, CreatedAt: c.Now}
	if ref.Location == sessions.Remote {
		ref.Status = sessions.RefIdle
	}
	return ref
}

// bear makes the session, and the parent's record of it.
func (s *Store) bear(c sessions.CreateSession) (*record, error) {
	var parent *record
	if c.ParentID != "" {
		var err error
		if parent, err = s.parentOf(c); err != nil {
			return nil, err
		}
	}
	born := s.born(sessions.Session{ID: cmp.Or(c.At.ID, c.NewID), Owner: c.Owner, TargetKey: c.At.Key.Target, ProfileKey: profileOf(c),
		Title: c.Title, Labels: c.Labels, ParentID: c.ParentID, ParentLocation: c.ParentLocation, AgentID: c.AgentID, Fence: sessions.Fence{Epoch: 1}}, c.Now)
	if parent != nil {
		parent.addRef(refOf(c, born.session.ID))
	}
	return born, nil
}
