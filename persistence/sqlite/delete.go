package sqlite

import (
	"context"

	"agenthost/sessions"
)

// DeleteSession ends a session; see the port. Once begun it goes on to its end
// even if the caller stops waiting: then the receipt is incomplete, or the
// error is ErrOutcomeUnknown, and hidden may be called after the return.
func (s *Store) DeleteSession(ctx context.Context, c sessions.DeleteSession, hidden func([]sessions.DeletedSession)) (*sessions.Receipt, error) {
	receipt, found, err := s.awaitRemoval(ctx, func(r *removal) error { return s.deleteSession(c, hidden, r) })
	if err != nil || !found {
		return nil, err
	}
	return &receipt, nil
}

// awaitRemoval runs a delete in the background and waits for it, or for the end
// of ctx.
func (s *Store) awaitRemoval(ctx context.Context, run func(*removal) error) (sessions.Receipt, bool, error) {
	if ctx.Err() != nil {
		return sessions.Receipt{}, false, sessions.ErrOutcomeUnknown.Because(context.Cause(ctx))
	}
	r := &removal{}
	done := make(chan error, 1)
	if err := s.goBackground(func() { done <- run(r) }); err != nil {
		return sessions.Receipt{}, false, err
	}
	select {
	case err := <-done:
		receipt, hidden := r.soFar()
		if err != nil && hidden {
			// The session is gone for everyone; a sweep takes the rest away.
			s.log.Warn("rows of a delete are left for the next sweep", "error", err)
			return receipt, true, nil
		}
		return receipt, hidden, err
	case <-ctx.Done():
		if receipt, hidden := r.soFar(); hidden {
			return receipt, true, nil
		}
		return sessions.Receipt{}, false, sessions.ErrOutcomeUnknown.Because(context.Cause(ctx))
	}
}

// ended is what the first transaction of a delete did.
type ended struct {
	gone     []sessions.DeletedSession // by a delete
	last     sessions.Incarnation      // of the lives a clear has ended
	sessions int64                     // how many
	rows     map[string]int64
}

func (s *Store) deleteSession(c sessions.DeleteSession, hidden func([]sessions.DeletedSession), r *removal) error {
	end, err := deleting(s, func() (ended, error) {
		return do(always, s.writer, func(t *tx) (ended, error) { return s.hide(t, c) })
	})
	if err != nil {
		return err
	}
	if len(end.gone) == 0 {
		// A delete cut short by a crash may have left rows of an earlier life.
		return s.remove(scope{owner: c.Owner}, &removal{receipt: sessions.Receipt{Rows: map[string]int64{}}})
	}
	r.begin(end)
	if hidden != nil {
		hidden(end.gone)
	}
	return s.remove(scope{life: end.gone[0].Fence.Incarnation}, r)
}

// hide makes the session invisible, fences its writers, and leaves tombstones.
func (s *Store) hide(t *tx, c sessions.DeleteSession) (ended, error) {
	session, err := findSession(always, t, c.Owner, c.At)
	if err != nil || session == nil {
		return ended{}, err
	}
	if c.RejectIfBusy && session.busy() != nil {
		return ended{}, sessions.ErrTreeBusy
	}
	if _, err := sessions.Next(session.Status, sessions.SessionDeleted); err != nil {
		return ended{}, sessions.Errorf(sessions.CodeInternal, "The session cannot be deleted as it is.").Because(err)
	}
	if err := hideLife(t, session.Fence.Incarnation, c.Now); err != nil {
		return ended{}, err
	}
	t.files.end(session.Fence.Incarnation)
	end := ended{gone: []sessions.DeletedSession{{Owner: session.Owner, ID: session.ID, Fence: session.Fence}}, sessions: 1, rows: map[string]int64{}}
	expires := c.Now + sessions.Time(c.TombstoneMs)
	claims, err := claimsOf(t, session.Fence.Incarnation, c.Now)
	if err != nil {
		return ended{}, err
	}
	if err := s.tombs.buryClaims(t, claims, expires); err != nil {
		return ended{}, err
	}
	if end.rows["dedupe_claims"], err = t.exec("DELETE FROM dedupe_claims WHERE sid = ?", session.Fence.Incarnation); err != nil {
		return ended{}, err
	}
	end.rows["sub_session_refs"], err = t.exec(`DELETE FROM sub_session_refs WHERE child_id = ?
        AND sid IN (SELECT sid FROM sessions WHERE owner = ? AND id = ? AND deleted_ms IS NULL)`,
		session.ID, session.Owner, session.ParentID)
	if err != nil {
		return ended{}, err
	}
	return end, s.tombs.bury(t, session.Session, expires)
}

func hideLife(t *tx, life sessions.Incarnation, now sessions.Time) error {
	n, err := t.exec("UPDATE sessions SET deleted_ms = ?, epoch = epoch + 1 WHERE sid = ? AND deleted_ms IS NULL", now, life)
	return fencedUnlessOne(n, err)
}
