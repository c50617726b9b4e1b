package memory

import (
	"context"

	"agenthost/sessions"
)

// ofLife reads a life that goes on.
func ofLife[R any](ctx context.Context, s *Store, life sessions.Incarnation, f func(*record) (R, error)) (R, error) {
	return read(ctx, s, func() (R, error) {
		r := s.lives[life]
		if r == nil {
			var none R
			return none, sessions.ErrLifeOver
		}
		return f(r)
	})
}

// Resolve says what an address means now; see the port.
func (s *Store) Resolve(ctx context.Context, owner sessions.Owner, at sessions.Address) (sessions.Resolution, error) {
	return read(ctx, s, func() (sessions.Resolution, error) {
		found := sessions.Resolution{Generation: s.generation(owner)}
		if r := s.find(owner, at); r != nil {
			found.Life, found.ID, found.Key, found.Profile = r.life(), r.session.ID, r.session.Key(), r.session.ProfileKey
			found.Waits = r.session.Status == sessions.StatusWaiting
		}
		return found, nil
	})
}

// Over reports whether a life is over; see the port.
func (s *Store) Over(ctx context.Context, life sessions.Incarnation) (bool, error) {
	return read(ctx, s, func() (bool, error) { return life > 0 && life <= s.lastLife && s.lives[life] == nil, nil })
}

// Deleted reports whether a session of an id was deleted; see the port.
func (s *Store) Deleted(ctx context.Context, owner sessions.Owner, id sessions.SessionID, now sessions.Time) (bool, error) {
	return read(ctx, s, func() (bool, error) {
		grave, ok := s.sessionGraves[s.sessionHash(owner, id)]
		return ok && grave.expires > now && grave.life > s.cleared[owner], nil
	})
}

// Session returns the session at an address; see the port.
func (s *Store) Session(ctx context.Context, owner sessions.Owner, at sessions.Address) (sessions.Session, error) {
	return read(ctx, s, func() (sessions.Session, error) {
		r := s.find(owner, at)
		if r == nil {
			return sessions.Session{}, sessions.ErrNoSession
		}
		return copySession(r.session), nil
	})
}

// Messages returns a range of a life's messages; see the port.
func (s *Store) Messages(ctx context.Context, life sessions.Incarnation, q sessions.MessageQuery) (sessions.MessagePage, error) {
	return ofLife(ctx, s, life, func(r *record) (sessions.MessagePage, error) {
		to := r.session.MessageCount
		if q.BeforeSeq > 0 {
			to = min(to, q.BeforeSeq-1)
		}
		var page sessions.MessagePage
		page.HasMore = span(max(q.AfterSeq, 0)+1, to, q.Descending, func(seq int64) bool {
			if q.Limit > 0 && len(page.Messages) == q.Limit {
				return false
			}
			page.Messages = append(page.Messages, copyMessage(r.messages[seq-1]))
			return true
		})
		return page, nil
	})
}

// span calls take with each seq of a range, in the order that is asked for, until
// it returns false. It reports whether it did.
func span(from, to int64, descending bool, take func(seq int64) bool) bool {
	for i := range max(to-from+1, 0) {
		seq := from + i
		if descending {
			seq = to - i
		}
		if !take(seq) {
			return true
		}
	}
	return false
}
