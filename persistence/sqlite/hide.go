package sqlite

import "agenthost/sessions"

// The statements of a delete's first transaction. Each takes all its sessions at
// once, as a JSON array of lives or of ids, so that the writer is soon free again.
const (
	hideLives      = `UPDATE sessions SET deleted_ms = ?, epoch = epoch + 1 WHERE sid IN (SELECT value FROM json_each(?))`
	removeClaims   = `DELETE FROM dedupe_claims WHERE sid IN (SELECT value FROM json_each(?))`
	forgetChildren = `DELETE FROM sub_session_refs WHERE child_id IN (SELECT value FROM json_each(?2))
        AND EXISTS (SELECT 1 FROM sessions p WHERE p.sid = sub_session_refs.sid AND p.owner = ?1 AND p.deleted_ms IS NULL)`
	forgetOrigins = `UPDATE sessions SET forked_from = '' WHERE owner = ? AND forked_from <> ''
        AND forked_from IN (SELECT value FROM json_each(?)) AND deleted_ms IS NULL`
	makeRoots = `UPDATE sessions SET parent_id = '', parent_location = '' WHERE owner = ? AND deleted_ms IS NULL
        AND parent_id IN (SELECT value FROM json_each(?)) AND parent_location = 'local'`
)

// hide makes a session, and unless they are detached all below it, invisible,
// fences their writers, leaves tombstones, and takes their ids from the sessions
// that live on.
func (s *Store) hide(t *tx, c sessions.DeleteSession) (ended, error) {
	root, err := rootOf(t, c)
	if err != nil || root == "" {
		return ended{}, err
	}
	members, err := membersOf(t, c.Owner, root, c.Children)
	if err != nil {
		return ended{}, err
	}
	if err := allows(c, root, members); err != nil {
		return ended{}, err
	}
	ids, err := jsonOf(append([]member{{id: root}}, members...), func(m member) sessions.SessionID { return m.id })
	if err != nil {
		return ended{}, err
	}
	end := ended{sessions: int64(len(members)), rows: map[string]int64{}}
	if len(members) > 0 {
		if err := s.endAll(t, c, members, &end); err != nil {
			return ended{}, err
		}
		if err := forget(t, c.Owner, ids, end.rows); err != nil {
			return ended{}, err
		}
	}
	return end, orphan(t, c.Owner, ids)
}

// rootOf returns the id of the session that a delete is about, which may be
// gone, or "" when only its key is known and nobody has it.
func rootOf(t *tx, c sessions.DeleteSession) (sessions.SessionID, error) {
	if c.At.ID != "" {
		return c.At.ID, nil
	}
	r, err := resolve(always, t, c.Owner, c.At)
	return r.ID, err
}

// endAll hides and fences sessions, and turns their claims into tombstones.
func (s *Store) endAll(t *tx, c sessions.DeleteSession, members []member, end *ended) error {
	for _, m := range members {
		fence := sessions.Fence{Incarnation: m.life, Epoch: m.epoch}
		end.gone = append(end.gone, sessions.DeletedSession{Owner: c.Owner, ID: m.id, Fence: fence})
		t.files.end(m.life)
	}
	lives, err := jsonOf(members, func(m member) sessions.Incarnation { return m.life })
	if err != nil {
		return err
	}
	if c.Announce {
		if err := announceEnded(t, end.gone); err != nil {
			return err
		}
	}
	if _, err := t.exec(hideLives, c.Now, lives); err != nil {
		return err
	}
	claims, err := claimsOf(t, lives, c.Now)
	if err != nil {
		return err
	}
	expires := c.Now + sessions.Time(c.TombstoneMs)
	if err := s.tombs.buryClaims(t, claims, expires); err != nil {
		return err
	}
	if end.rows["dedupe_claims"], err = t.exec(removeClaims, lives); err != nil {
		return err
	}
	return s.tombs.bury(t, end.gone, expires)
}

// forget takes the ids of sessions that have ended from those that live on: from
// their refs, and from forks of an ended one.
func forget(t *tx, owner sessions.Owner, ids string, rows map[string]int64) (err error) {
	if rows["sub_session_refs"], err = t.exec(forgetChildren, owner, ids); err != nil {
		return err
	}
	_, err = t.exec(forgetOrigins, owner, ids)
	return err
}

// orphan makes roots of what was made as a local child of sessions that have
// ended and lives on: it was detached, or a remote ref names it, which may end
// with its holder and must shield it all the same.
func orphan(t *tx, owner sessions.Owner, ids string) error {
	_, err := t.exec(makeRoots, owner, ids)
	return err
}
