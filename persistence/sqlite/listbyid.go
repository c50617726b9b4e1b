package sqlite

import (
	"context"

	"agenthost/sessions"
)

// sessionsByID returns a page in the order of ids, which is that of an index, also
// among the sessions of one saved agent. Its cursor is an id, whether or not there is
// a session of it.
func (s *Store) sessionsByID(ctx context.Context, q sessions.SessionQuery) (sessions.SessionPage, error) {
	query, args := newListing(q).queryByID()
	var found []sessions.Session
	err := s.readers.read(ctx, func(db querier) (err error) {
		found, err = listed(ctx, db, query, args)
		return err
	})
	if err != nil {
		return sessions.SessionPage{}, err
	}
	var page sessions.SessionPage
	var more bool
	if page.Sessions, more = cut(found, pageLimit(q.Limit)); more {
		page.NextCursor = string(page.Sessions[len(page.Sessions)-1].ID)
	}
	return page, nil
}

func (l *listing) queryByID() (string, []any) {
	q, index := l.q, "sessions_by_id"
	if q.Agent != nil && *q.Agent != "" {
		index = "sessions_by_agent"
	}
	where, args := l.filters(q.Owner, l.statuses)
	behind, order := " AND id < ?", " ORDER BY id DESC LIMIT ?"
	if q.Ascending {
		behind, order = " AND id > ?", " ORDER BY id LIMIT ?"
	}
	if q.Cursor != "" {
		where, args = where+behind, append(args, q.Cursor)
	}
	return selectSession + "INDEXED BY " + index + " WHERE owner = ? AND deleted_ms IS NULL" + where + order, append(args, l.limit+1)
}
