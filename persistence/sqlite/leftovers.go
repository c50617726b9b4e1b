package sqlite

import (
	"context"

	"agenthost/sessions"
)

// removeLeftovers takes away what removals have left that a crash or a failure has
// ended: of an owner, or with "" of all. What others are at, it leaves to them.
func (s *Store) removeLeftovers(ctx context.Context, owner sessions.Owner) error {
	r := newRemoval(owner)
	lives, err := s.takeHidden(ctx, owner, r)
	if err != nil || len(lives) == 0 {
		return err
	}
	return s.remove(ctx, lives, r)
}

// removeAllHidden does so too, and waits for what others are at: nothing is left
// of what was hidden before.
func (s *Store) removeAllHidden(owner sessions.Owner) error {
	for other := range s.underway.others(owner) {
		<-other.done
	}
	return s.removeLeftovers(always, owner)
}

const selectHidden = `SELECT sid, owner FROM sessions INDEXED BY sessions_deleted
    WHERE deleted_ms IS NOT NULL AND (?1 = '' OR owner = ?1)`

// takeHidden gives a removal all hidden lives of an owner, or of all, that no other
// removal has.
func (s *Store) takeHidden(ctx context.Context, owner sessions.Owner, r *removal) ([]sessions.Incarnation, error) {
	var hidden []hiddenLife
	err := s.readers.read(ctx, func(q querier) error {
		return q.each(ctx, selectHidden, func(row scanner) error {
			var h hiddenLife
			err := row.Scan(&h.life, &h.owner)
			hidden = append(hidden, h)
			return err
		}, owner)
	})
	if err != nil {
		return nil, err
	}
	return s.underway.take(r, hidden), nil
}
