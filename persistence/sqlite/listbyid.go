package sqlite

import (
	"context"

	"agenthost/sessions"
)

// sessionsByID returns a page in the order of ids, which is that of an index. Its
// cursor is an id, whether or not there is a session of it.
func (s *Store) sessionsByID(ctx context.Context, q sessions.SessionQuery) (sessions.SessionPage, error) {
	l := newListing(q)
	where, args := l.filters(q.Owner, l.statuses)
	behind, order := " AND id < ?", " ORDER BY id DESC LIMIT ?"
	if q.Ascending {
		behind, order = " AND id > ?", " ORDER BY id LIMIT ?"
	}
	if q.Cursor != "" {
		where, args = where+behind, append(args, q.Cursor)
	}
	query := selectSession + "INDEXED BY sessions_by_id WHERE owner = ? AND deleted_ms IS NULL" + where + order
	var found []sessions.Session
	err := s.readers.read(ctx, func(db querier) (err error) {
		found, err = listed(ctx, db, query, append(args, l.limit+1))
		return err
	})
	if err != nil {
		return sessions.SessionPage{}, err
	}
	var page sessions.SessionPage
	var more bool
	if page.Sessions, more = cut(found, l.limit); more {
		page.NextCursor = string(page.Sessions[l.limit-1].ID)
	}
	return page, nil
}
