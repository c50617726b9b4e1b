package memory

import (
	"context"
	"slices"

	"agenthost/sessions"
)

// DeleteSession ends a session; see the port. Nothing is left to be removed
// afterwards.
func (s *Store) DeleteSession(ctx context.Context, c sessions.DeleteSession, hidden func([]sessions.DeletedSession)) (*sessions.Receipt, error) {
	var gone []sessions.DeletedSession
	receipt, err := write(ctx, s, func() (*sessions.Receipt, error) {
		root := c.At.ID
		if r := s.find(c.Owner, c.At); r != nil {
			root = r.session.ID
		}
		if root == "" {
			return nil, nil
		}
		f := s.family(c.Owner)
		var members []*record
		if c.Children != sessions.Detach {
			members = f.tree(root)
		} else if r := f.byID[root]; r != nil {
			members = []*record{r}
		}
		if err := allows(c, root, members); err != nil {
			return nil, err
		}
		receipt := &sessions.Receipt{Rows: map[string]int64{}, Complete: true}
		ended := map[sessions.SessionID]bool{root: true}
		for _, r := range members {
			gone = append(gone, sessions.DeletedSession{Owner: c.Owner, ID: r.session.ID, Fence: r.session.Fence})
			ended[r.session.ID] = true
			s.remove(r, c.Now, c.TombstoneMs, receipt)
		}
		s.forget(c.Owner, ended, receipt)
		if c.Announce {
			s.unheard = append(s.unheard, gone...)
		}
		return receipt, nil
	})
	if err != nil || len(gone) == 0 {
		return nil, err
	}
	if hidden != nil {
		hidden(slices.Clone(gone))
	}
	return receipt, nil
}

// remove takes away all of a session but its tombstones, and counts it.
func (s *Store) remove(r *record, now sessions.Time, tombstoneMs int64, receipt *sessions.Receipt) {
	receipt.Sessions++
	delete(s.lives, r.life())
	delete(s.ids, ownID{r.session.Owner, r.session.ID})
	if key := r.session.Key(); !key.IsZero() {
		delete(s.keys, ownKey{r.session.Owner, key})
	}
	// Named as in other stores, so that receipts can be compared.
	for rows, n := range map[string]int64{
		"sessions":          1,
		"session_messages":  int64(len(r.messages)),
		"activity_frames":   int64(len(r.frames)),
		"session_state":     int64(len(r.state)),
		"session_summaries": int64(len(r.summaries)),
		"turns":             int64(len(r.turns)),
		"pending_prompts":   int64(len(r.pending)),
		"waited_calls":      int64(len(r.waited)),
		"sub_session_refs":  int64(len(r.refs)),
		"usage":             int64(len(r.usage)),
		"dedupe_claims":     s.bury(r, now, now+sessions.Time(tombstoneMs)),
	} {
		if n > 0 {
			receipt.Rows[rows] += n
		}
	}
}

// forget takes the ids of sessions that have ended from those that live on.
func (s *Store) forget(owner sessions.Owner, ended map[sessions.SessionID]bool, receipt *sessions.Receipt) {
	for _, r := range s.ofOwner(owner) {
		before := len(r.refs)
		r.refs = slices.DeleteFunc(r.refs, func(ref sessions.Ref) bool { return ended[ref.SessionID] })
		if n := before - len(r.refs); n > 0 {
			receipt.Rows["sub_session_refs"] += int64(n)
		}
		if ended[r.session.ForkedFrom] {
			r.session.ForkedFrom = ""
		}
		if r.session.ParentLocation == sessions.Local && ended[r.session.ParentID] {
			r.session.ParentID, r.session.ParentLocation = "", ""
		}
	}
}

// ClearOwner ends all sessions of an owner; see the port.
func (s *Store) ClearOwner(ctx context.Context, c sessions.ClearOwner, hidden func(upTo sessions.Incarnation, count int64)) (sessions.Receipt, error) {
	var last sessions.Incarnation
	receipt, err := write(ctx, s, func() (sessions.Receipt, error) {
		receipt := sessions.Receipt{Rows: map[string]int64{}, Complete: true}
		last = s.lastLife
		s.generations[c.Owner], s.cleared[c.Owner] = s.generation(c.Owner)+1, last
		for _, r := range s.ofOwner(c.Owner) {
			if c.Announce {
				s.unheard = append(s.unheard, sessions.DeletedSession{Owner: c.Owner, ID: r.session.ID, Fence: r.session.Fence})
			}
			s.remove(r, c.Now, c.TombstoneMs, &receipt)
		}
		return receipt, nil
	})
	if err == nil && hidden != nil {
		hidden(last, receipt.Sessions)
	}
	return receipt, err
}

// generation returns an owner's generation: 1 before its first clear.
func (s *Store) generation(owner sessions.Owner) int64 { return max(s.generations[owner], 1) }
