package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"agenthost/sessions"
)

// Sessions returns a page of the owner's sessions; see the port.
func (s *Store) Sessions(ctx context.Context, q sessions.SessionQuery) (sessions.SessionPage, error) {
	if q.ByID {
		return s.sessionsByID(ctx, q)
	}
	l := newListing(q)
	if err := l.resume(q.Cursor); err != nil {
		return sessions.SessionPage{}, err
	}
	var found []sessions.Session
	err := s.readers.read(ctx, func(db querier) (err error) {
		if q.Owner == sessions.AllOwners {
			found, err = l.ofAll(ctx, db)
		} else {
			found, err = l.of(ctx, db, q.Owner)
		}
		return err
	})
	if err != nil {
		return sessions.SessionPage{}, err
	}
	var page sessions.SessionPage
	var more bool
	if page.Sessions, more = cut(found, l.limit); more {
		page.NextCursor = l.cursorAfter(page.Sessions[l.limit-1])
	}
	return page, nil
}

// listed returns the sessions that a query finds.
func listed(ctx context.Context, db querier, query string, args []any) (found []sessions.Session, err error) {
	var rows []*sessionRow
	err = db.each(ctx, query, func(row scanner) error {
		r, err := scanSession(row)
		rows = append(rows, r)
		return err
	}, args...)
	for i := 0; err == nil && i < len(rows); i++ {
		err = rows[i].readWaiting(ctx, db)
		found = append(found, rows[i].Session)
	}
	return found, err
}

// listing is a list query on its way to SQL.
type listing struct {
	q        sessions.SessionQuery
	statuses []sessions.Status
	limit    int
	from     *listCursor // nil at the start
}

// listCursor is the place behind one session, in the order of the list.
type listCursor struct {
	Filter string             `json:"f"` // digest of the query the cursor is of
	At     int64              `json:"t"`
	ID     sessions.SessionID `json:"i"`
	Owner  sessions.Owner     `json:"o,omitempty"` // in a list of all owners' sessions
}

func newListing(q sessions.SessionQuery) *listing {
	statuses := slices.Clone(q.Statuses)
	slices.Sort(statuses)
	return &listing{q: q, statuses: slices.Compact(statuses), limit: pageLimit(q.Limit)}
}

// filter is a digest of all that decides which sessions are in the list.
func (l *listing) filter() string {
	text, _ := json.Marshal([]any{l.q.Owner, l.q.TargetKey, l.q.Profile, l.statuses, l.q.Parent, l.q.Agent, l.q.Labels}) // of strings: cannot fail
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

func (l *listing) cursorAfter(s sessions.Session) string {
	after := listCursor{Filter: l.filter(), At: int64(s.LastActiveAt), ID: s.ID}
	if l.q.Owner == sessions.AllOwners {
		after.Owner = s.Owner
	}
	text, _ := json.Marshal(after) // of strings: cannot fail
	return base64.RawURLEncoding.EncodeToString(text)
}

func (l *listing) resume(cursor string) error {
	if cursor == "" {
		return nil
	}
	var from listCursor
	text, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || json.Unmarshal(text, &from) != nil || from.Filter != l.filter() {
		return sessions.ErrCursor
	}
	l.from = &from
	return nil
}

// of returns a page of one owner's sessions, and one more.
func (l *listing) of(ctx context.Context, db querier, owner sessions.Owner) ([]sessions.Session, error) {
	query, args := l.query(owner)
	return listed(ctx, db, query, args)
}

// query builds the statement. Each filter that has an index is walked in the
// index's own order; several statuses are as many walks, merged.
func (l *listing) query(owner sessions.Owner) (string, []any) {
	index := l.index()
	if index != "sessions_list_status" || len(l.statuses) == 1 {
		return l.walk(owner, index, l.statuses)
	}
	var walks []string
	var args []any
	for _, status := range l.statuses {
		query, some := l.walk(owner, index, []sessions.Status{status})
		walks, args = append(walks, "SELECT * FROM ("+query+")"), append(args, some...)
	}
	return strings.Join(walks, " UNION ALL ") + listOrder, append(args, l.limit+1)
}

const listOrder = " ORDER BY last_active_ms DESC, id DESC LIMIT ?"

// index names the index of the filter that leaves the fewest sessions.
func (l *listing) index() string {
	switch {
	case l.q.TargetKey != "":
		return "sessions_list_target"
	case l.q.Parent != nil && *l.q.Parent != "":
		return "sessions_list_parent"
	case len(l.statuses) > 0:
		return "sessions_list_status"
	case l.q.Parent != nil:
		return "sessions_list_parent"
	case l.q.Profile != "":
		return "sessions_list_profile"
	default:
		return "sessions_list"
	}
}

// walk builds one walk along an index, with the other filters on its way.
func (l *listing) walk(owner sessions.Owner, index string, statuses []sessions.Status) (string, []any) {
	where, args := l.filters(owner, statuses)
	if l.from != nil {
		before := "<"
		if owner < l.from.Owner {
			before = "<=" // the same id of an owner who comes later in the list
		}
		where, args = where+" AND (last_active_ms, id) "+before+" (?, ?)", append(args, l.from.At, l.from.ID)
	}
	return selectSession + "INDEXED BY " + index + " WHERE owner = ? AND deleted_ms IS NULL" + where + listOrder,
		append(args, l.limit+1)
}

// filters builds the conditions of a list, and their values behind the owner.
func (l *listing) filters(owner sessions.Owner, statuses []sessions.Status) (string, []any) {
	var where strings.Builder
	args := []any{owner}
	and := func(condition string, values ...any) {
		where.WriteString(" AND " + condition)
		args = append(args, values...)
	}
	if l.q.TargetKey != "" {
		and("target_key = ? AND target_key <> ''", l.q.TargetKey)
	}
	if l.q.Profile != "" {
		and("profile_key = ?", l.q.Profile)
	}
	if l.q.Parent != nil {
		and("parent_id = ?", *l.q.Parent)
	}
	switch {
	case l.q.Agent == nil:
	case *l.q.Agent == "":
		and("agent_id = ''")
	default:
		and("agent_id = ? AND agent_id <> ''", *l.q.Agent)
	}
	if len(statuses) == 1 {
		and("status = ?", statuses[0])
	} else if len(statuses) > 1 {
		and("status IN (" + strings.TrimSuffix(strings.Repeat("?, ", len(statuses)), ", ") + ")")
		for _, s := range statuses {
			args = append(args, s)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.q.Labels)) {
		and("EXISTS (SELECT 1 FROM json_each(labels) WHERE key = ? AND value = ?)", name, l.q.Labels[name])
	}
	return where.String(), args
}
