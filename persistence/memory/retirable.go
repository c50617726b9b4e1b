package memory

import (
	"cmp"
	"context"
	"math"
	"slices"

	"agenthost/sessions"
)

// Retirable returns a page of roots that retention may end; see the port.
func (s *Store) Retirable(ctx context.Context, q sessions.RetireQuery) (sessions.RetirePage, error) {
	const list = "retirable"
	from, err := parseCursor(q.Cursor, list)
	if err != nil {
		return sessions.RetirePage{}, err
	}
	oldest := func(a, b cursor) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Num, b.Num)) }
	place := func(r sessions.Retiree) cursor {
		life := r.Fence.Incarnation
		return cursor{List: list, At: int64(s.lives[life].quietSince()), Num: int64(life)}
	}
	return read(ctx, s, func() (sessions.RetirePage, error) {
		found := s.retirees(q)
		slices.SortFunc(found, func(a, b sessions.Retiree) int { return oldest(place(a), place(b)) })
		var answer sessions.RetirePage
		answer.Roots, answer.NextCursor = page(found, from, q.Limit, place, oldest)
		return answer, nil
	})
}

// retirees returns all that a rule names.
func (s *Store) retirees(q sessions.RetireQuery) (found []sessions.Retiree) {
	roots := map[sessions.Owner][]*record{}
	for _, r := range s.lives {
		if r.session.ParentID == "" && (q.Profile == "" || q.Profile == r.session.ProfileKey) {
			roots[r.session.Owner] = append(roots[r.session.Owner], r)
		}
	}
	for owner, all := range roots {
		before := cmp.Or(q.Before, math.MaxInt64)
		if q.Beyond > 0 {
			before = min(before, lastKept(all, q.Beyond))
		}
		for _, r := range all {
			if r.quietSince() < before && r.busy() == nil && (!q.Blank || r.session.TurnCount == 0) {
				found = append(found, sessions.Retiree{Before: before,
					DeletedSession: sessions.DeletedSession{Owner: owner, ID: r.session.ID, Fence: r.session.Fence}})
			}
		}
	}
	return found
}

// lastKept is the activity of the last root that stays when so many do; those as
// recent as it stay too. It is 0, which none is before, when all of them stay.
func lastKept(all []*record, many int64) sessions.Time {
	if int64(len(all)) < many {
		return 0
	}
	slices.SortFunc(all, func(a, b *record) int { return cmp.Compare(b.quietSince(), a.quietSince()) })
	return all[many-1].quietSince()
}
