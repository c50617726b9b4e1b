package memory

import (
	"cmp"
	"context"
	"slices"

	"agenthost/sessions"
)

// sessionsByID returns a page in the order of ids.
func (s *Store) sessionsByID(ctx context.Context, q sessions.SessionQuery) (sessions.SessionPage, error) {
	order := func(a, b sessions.SessionID) int { return cmp.Compare(b, a) }
	if q.Ascending {
		order = cmp.Compare[sessions.SessionID]
	}
	from := sessions.SessionID(q.Cursor)
	return read(ctx, s, func() (sessions.SessionPage, error) {
		found := slices.DeleteFunc(s.ofOwner(q.Owner), func(r *record) bool {
			return !matches(q, r.session) || from != "" && order(r.session.ID, from) <= 0
		})
		slices.SortFunc(found, func(a, b *record) int { return order(a.session.ID, b.session.ID) })
		var answer sessions.SessionPage
		if limit := cmp.Or(max(q.Limit, 0), defaultPage); len(found) > limit {
			found, answer.NextCursor = found[:limit], string(found[limit-1].session.ID)
		}
		for _, r := range found {
			answer.Sessions = append(answer.Sessions, copySession(r.session))
		}
		return answer, nil
	})
}
