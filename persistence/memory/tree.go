package memory

import (
	"slices"

	"agenthost/sessions"
)

// family is what a delete must know of an owner's sessions.
type family struct {
	byID     map[sessions.SessionID]*record
	children map[sessions.SessionID][]sessions.SessionID // made as local, or named by a local ref
	remote   map[sessions.SessionID]bool                 // named by a remote ref
}

func (s *Store) family(owner sessions.Owner) family {
	f := family{map[sessions.SessionID]*record{}, map[sessions.SessionID][]sessions.SessionID{}, map[sessions.SessionID]bool{}}
	for _, r := range s.ofOwner(owner) {
		f.byID[r.session.ID] = r
		if r.session.ParentLocation == sessions.Local {
			f.children[r.session.ParentID] = append(f.children[r.session.ParentID], r.session.ID)
		}
		for _, ref := range r.refs {
			if ref.Location == sessions.Remote {
				f.remote[ref.SessionID] = true
			} else {
				f.children[r.session.ID] = append(f.children[r.session.ID], ref.SessionID)
			}
		}
	}
	return f
}

// tree returns the sessions below an id, of which there may be no session, that
// one first. It ends in a cycle.
func (f family) tree(root sessions.SessionID) (found []*record) {
	walk := []sessions.SessionID{root}
	seen := map[sessions.SessionID]bool{root: true}
	for len(walk) > 0 {
		id := walk[0]
		walk = walk[1:]
		if r := f.byID[id]; r != nil {
			found = append(found, r)
		}
		for _, child := range f.children[id] {
			if !seen[child] && !f.remote[child] {
				seen[child] = true
				walk = append(walk, child)
			}
		}
	}
	return found
}

// allows judges whether a delete of root may end all of the sessions.
func allows(c sessions.DeleteSession, root sessions.SessionID, all []*record) error {
	unsettled := func(r *record) bool { return r.session.ID == root && r.busy() != nil }
	if c.OnlySettled && slices.ContainsFunc(all, unsettled) {
		return sessions.ErrNotSettled
	}
	if c.RejectIfBusy && slices.ContainsFunc(all, func(r *record) bool { return r.busy() != nil }) {
		return sessions.ErrTreeBusy
	}
	if c.Retire != nil && slices.ContainsFunc(all, func(r *record) bool { return r.retained(*c.Retire) }) {
		return sessions.ErrRetained
	}
	return nil
}

func (r *record) retained(by sessions.Retirement) bool {
	return r.busy() != nil || r.quietSince() >= by.Before || by.Blank && r.session.TurnCount > 0
}
