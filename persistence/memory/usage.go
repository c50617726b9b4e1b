package memory

import (
	"context"

	"agenthost/sessions"
)

// addUsage adds what was consumed to the session's and the owner's sums of the
// day. The owner's outlive the session.
func (s *Store) addUsage(r *record, c sessions.AddUsage) {
	if c.Usage == (sessions.Usage{}) {
		return
	}
	key := usageKey{c.Now.Day(), c.Model, c.Kind}
	r.usage[key] = r.usage[key].Plus(c.Usage)
	owned := ownUsage{r.session.Owner, key}
	s.ownerUsage[owned] = s.ownerUsage[owned].Plus(c.Usage)
}

// AddUsage adds to the sums of a session and its owner; see the port.
func (s *Store) AddUsage(ctx context.Context, c sessions.AddUsage) error {
	if err := c.Check(); err != nil {
		return err
	}
	_, err := write(ctx, s, func() (bool, error) {
		r := s.lives[c.Life]
		if r == nil {
			return false, sessions.ErrFenced
		}
		s.addUsage(r, c)
		return true, nil
	})
	return err
}

// Usage sums up what was consumed; see the port.
func (s *Store) Usage(ctx context.Context, q sessions.UsageQuery) ([]sessions.UsageSum, error) {
	sums := map[usageKey]sessions.Usage{}
	add := func(key usageKey, u sessions.Usage) {
		if key.day >= q.Since.Day() {
			sums[key] = sums[key].Plus(u)
		}
	}
	if q.By == sessions.UsageByOwner {
		return read(ctx, s, func() ([]sessions.UsageSum, error) {
			for key, u := range s.ownerUsage {
				if key.owner == q.Owner {
					add(key.of, u)
				}
			}
			return listed(sums), nil
		})
	}
	return ofLife(ctx, s, q.Life, func(r *record) ([]sessions.UsageSum, error) {
		members := []*record{r}
		if q.By == sessions.UsageByTree {
			members = s.family(r.session.Owner).tree(r.session.ID)
		}
		for _, m := range members {
			for key, u := range m.usage {
				add(key, u)
			}
		}
		return listed(sums), nil
	})
}

func listed(sums map[usageKey]sessions.Usage) (list []sessions.UsageSum) {
	for key, u := range sums {
		list = append(list, sessions.UsageSum{Day: key.day, Model: key.model, Kind: key.kind, Usage: u})
	}
	return list
}
