package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"agenthost/sessions"
)

// Sessions returns a page of the owner's sessions; see the port.
func (s *Store) Sessions(ctx context.Context, q sessions.SessionQuery) (sessions.SessionPage, error) {
	if q.ByID {
		return s.sessionsByID(ctx, q)
	}
	list := listOf(q)
	from, err := parseCursor(q.Cursor, list)
	if err != nil {
		return sessions.SessionPage{}, err
	}
	newest := func(a, b cursor) int {
		return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(b.ID, a.ID), cmp.Compare(b.Owner, a.Owner))
	}
	place := func(r *record) cursor {
		return cursor{List: list, At: int64(r.session.LastActiveAt), ID: r.session.ID, Owner: r.session.Owner}
	}
	return read(ctx, s, func() (sessions.SessionPage, error) {
		found := slices.DeleteFunc(s.ofOwner(q.Owner), func(r *record) bool { return !matches(q, r.session) })
		slices.SortFunc(found, func(a, b *record) int { return newest(place(a), place(b)) })
		found, next := page(found, from, q.Limit, place, newest)
		answer := sessions.SessionPage{NextCursor: next}
		for _, r := range found {
			answer.Sessions = append(answer.Sessions, copySession(r.session))
		}
		return answer, nil
	})
}

// Owners returns who has sessions; see the port.
func (s *Store) Owners(ctx context.Context) ([]sessions.Owner, error) {
	return read(ctx, s, func() ([]sessions.Owner, error) {
		owners := map[sessions.Owner]bool{}
		for _, r := range s.lives {
			owners[r.session.Owner] = true
		}
		return slices.Sorted(maps.Keys(owners)), nil
	})
}

// Elsewhere reports whether another owner has a session there; see the port.
func (s *Store) Elsewhere(ctx context.Context, owner sessions.Owner, at sessions.Address) (bool, error) {
	return read(ctx, s, func() (bool, error) {
		found := false
		for _, r := range s.lives {
			is := r.session.ID == at.ID || at.ID == "" && !at.Key.IsZero() && r.session.Key() == at.Key
			found = found || is && r.session.Owner != owner
		}
		return found, nil
	})
}

// listOf names a list by all that decides which sessions are in it.
func listOf(q sessions.SessionQuery) string {
	text, _ := json.Marshal([]any{q.Owner, q.TargetKey, q.Profile, q.Statuses, q.Parent, q.Agent, q.Labels}) // of strings: cannot fail
	return string(text)
}

func matches(q sessions.SessionQuery, s sessions.Session) bool {
	for name, value := range q.Labels {
		if have, ok := s.Labels[name]; !ok || have != value {
			return false
		}
	}
	return (q.TargetKey == "" || q.TargetKey == s.TargetKey) &&
		(q.Profile == "" || q.Profile == s.ProfileKey) &&
		(q.Parent == nil || *q.Parent == s.ParentID) &&
		(q.Agent == nil || *q.Agent == s.AgentID) &&
		(len(q.Statuses) == 0 || slices.Contains(q.Statuses, s.Status))
}
