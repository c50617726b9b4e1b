package memory

import (
	"context"
	"maps"
	"slices"

	"agenthost/sessions"
)

// ClosedCleanly is true: a store in memory is always new.
func (*Store) ClosedCleanly() bool { return true }

// Describe names the store. What it acknowledges survives nothing, which is less
// than "process" says, but no less than the process that holds it.
func (*Store) Describe() sessions.StoreInfo {
	return sessions.StoreInfo{Name: "memory", Durability: "process"}
}

// CheckWritable reports whether the store is open.
func (s *Store) CheckWritable(ctx context.Context) error {
	_, err := write(ctx, s, func() (bool, error) { return true, nil })
	return err
}

// Sweep removes claims and tombstones that have expired; see the port.
func (s *Store) Sweep(ctx context.Context, now sessions.Time) error {
	_, err := write(ctx, s, func() (bool, error) {
		maps.DeleteFunc(s.claims, func(_ ownRequest, c claim) bool { return !c.alive(now) })
		maps.DeleteFunc(s.claimGraves, func(_ hash, g claimGrave) bool { return g.expires <= now })
		maps.DeleteFunc(s.sessionGraves, func(_ hash, g sessionGrave) bool { return g.expires <= now })
		maps.DeleteFunc(s.agentClaims, func(_ hash, c agentClaim) bool { return c.expires <= now })
		maps.DeleteFunc(s.agentGraves, func(_ hash, expires sessions.Time) bool { return expires <= now })
		return true, nil
	})
	return err
}

// Unheard returns deleted sessions that nobody has been told of; see the port.
func (s *Store) Unheard(ctx context.Context, limit int) ([]sessions.DeletedSession, error) {
	return read(ctx, s, func() ([]sessions.DeletedSession, error) {
		return slices.Clone(s.unheard[:min(max(limit, 0), len(s.unheard))]), nil
	})
}

// Heard forgets them; see the port.
func (s *Store) Heard(ctx context.Context, heard []sessions.DeletedSession) error {
	_, err := write(ctx, s, func() (bool, error) {
		told := map[sessions.Incarnation]bool{}
		for _, d := range heard {
			told[d.Fence.Incarnation] = true
		}
		s.unheard = slices.DeleteFunc(s.unheard, func(d sessions.DeletedSession) bool { return told[d.Fence.Incarnation] })
		return true, nil
	})
	return err
}

var errUnsupported = sessions.Errorf(sessions.CodeNotSupported, "A store in memory has no files to compact.")

// Compact is NOT_SUPPORTED: there is no file to give space back to.
func (s *Store) Compact(ctx context.Context, _ bool) (sessions.Compaction, error) {
	return write(ctx, s, func() (sessions.Compaction, error) { return sessions.Compaction{}, errUnsupported })
}

// Close ends the use of the store, and of what is in it.
func (s *Store) Close() error {
	s.door.lock()
	defer s.door.unlock()
	s.closed = true
	return nil
}
