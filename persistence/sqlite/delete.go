package sqlite

import (
	"context"

	"agenthost/sessions"
)

// DeleteSession ends a session; see the port. Once begun it goes on to its end
// even if the caller stops waiting: then the receipt is incomplete, or the
// error is ErrOutcomeUnknown, and hidden may be called after the return.
func (s *Store) DeleteSession(ctx context.Context, c sessions.DeleteSession, hidden func([]sessions.DeletedSession)) (*sessions.Receipt, error) {
	receipt, found, err := s.awaitRemoval(ctx, c.Owner, func(r *removal) error { return s.deleteSession(c, hidden, r) })
	if err != nil || !found {
		return nil, err
	}
	return &receipt, nil
}

// awaitRemoval runs a delete in the background and waits for it, or for the end
// of ctx.
func (s *Store) awaitRemoval(ctx context.Context, owner sessions.Owner, run func(*removal) error) (sessions.Receipt, bool, error) {
	if ctx.Err() != nil {
		return sessions.Receipt{}, false, sessions.ErrOutcomeUnknown.Because(context.Cause(ctx))
	}
	r := newRemoval(owner)
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
		return do(always, s.writer, func(t *tx) (ended, error) {
			end, err := s.hide(t, c)
			s.underway.own(r, end.lives()) // before anyone else can see them
			return end, err
		})
	})
	if err != nil {
		s.underway.leave(r)
		return err
	}
	if len(end.gone) == 0 {
		s.underway.leave(r)
		// A delete cut short by a crash may have left rows of an earlier life.
		return s.removeLeftovers(always, c.Owner)
	}
	r.begin(end)
	if hidden != nil {
		hidden(end.gone)
	}
	return s.remove(always, end.lives(), r)
}

func (e ended) lives() []sessions.Incarnation {
	lives := make([]sessions.Incarnation, len(e.gone))
	for i, s := range e.gone {
		lives[i] = s.Fence.Incarnation
	}
	return lives
}
