package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing/fstest"

	"agenthost/sessions"
)

// Rows returns every row of every table as text, by table.
func (s *Store) Rows(ctx context.Context) (map[string][]string, error) {
	all := map[string][]string{}
	err := s.readers.read(ctx, func(q querier) error {
		var tables []string
		if err := q.each(ctx, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'", func(row scanner) error {
			var name string
			err := row.Scan(&name)
			tables = append(tables, name)
			return err
		}); err != nil {
			return err
		}
		for _, table := range tables {
			rows, err := rowsOf(ctx, q, table)
			if err != nil {
				return err
			}
			all[table] = rows
		}
		return nil
	})
	return all, err
}

func rowsOf(ctx context.Context, q querier, table string) ([]string, error) {
	var columns []string
	if err := q.each(ctx, "SELECT name FROM pragma_table_info(?)", func(row scanner) error {
		var name string
		err := row.Scan(&name)
		columns = append(columns, name)
		return err
	}, table); err != nil {
		return nil, err
	}
	var rows []string
	err := q.each(ctx, "SELECT * FROM "+table, func(row scanner) error {
		values, places := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			places[i] = &values[i]
		}
		if err := row.Scan(places...); err != nil {
			return err
		}
		var text strings.Builder
		for i, v := range values {
			if raw, ok := v.([]byte); ok {
				v = string(raw)
			}
			fmt.Fprintf(&text, "%s=%v;", columns[i], v)
		}
		rows = append(rows, text.String())
		return nil
	})
	return rows, err
}

// MakeOlder makes a database by some of the migrations, and fills it.
func MakeOlder(ctx context.Context, path string, migrations []string, fill ...string) (err error) {
	files := fstest.MapFS{}
	for _, name := range migrations {
		text, err := embedded.ReadFile("migrations/" + name)
		if err != nil {
			return err
		}
		files[name] = &fstest.MapFile{Data: text}
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := migrate(ctx, db, files); err != nil {
		return err
	}
	for _, statement := range fill {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// TablesOfLives returns the tables that have a column for a life.
func (s *Store) TablesOfLives(ctx context.Context) (tables []string, err error) {
	err = s.readers.read(ctx, func(q querier) error {
		return q.each(ctx, `SELECT m.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c
            WHERE m.type = 'table' AND c.name = 'sid'`, func(row scanner) error {
			var name string
			err := row.Scan(&name)
			tables = append(tables, name)
			return err
		})
	})
	return tables, err
}

// RemovedTables returns the tables that a delete empties of a life.
func RemovedTables() []string { return removedTables() }

// Exec runs a statement in the writer, behind the back of the rules.
func (s *Store) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	return do(ctx, s.writer, func(t *tx) (int64, error) { return t.exec(query, args...) })
}

// Damage changes a byte of a life's newest message.
func (s *Store) Damage(ctx context.Context, life sessions.Incarnation) error {
	_, err := s.Exec(ctx, `UPDATE session_messages SET body = CAST(replace(CAST(body AS TEXT), 'reply', 'rePly') AS BLOB)
        WHERE sid = ? AND seq = (SELECT max(seq) FROM session_messages WHERE sid = ?)`, life, life)
	return err
}

// StripLocation takes the location from a ref, which the schema does not allow.
func (s *Store) StripLocation(parent sessions.Incarnation, child sessions.SessionID) error {
	_, err := doSolo(s.writer, func(l *link) (int64, error) {
		if err := l.pragmas("ignore_check_constraints = 1"); err != nil {
			return 0, err
		}
		n, err := l.tx.exec("UPDATE sub_session_refs SET location = '' WHERE sid = ? AND child_id = ?", parent, child)
		return n, errors.Join(err, l.pragmas("ignore_check_constraints = 0"))
	})
	return err
}

// Job runs f as a job of the writer.
func (s *Store) Job(ctx context.Context, f func() error) error {
	_, err := do(ctx, s.writer, func(*tx) (bool, error) { return true, f() })
	return err
}

// WriteAndRefuse is a job that breaks the rule: it writes, then refuses.
func (s *Store) WriteAndRefuse(ctx context.Context, query string) error {
	_, err := do(ctx, s.writer, func(t *tx) (bool, error) {
		if _, err := t.exec(query); err != nil {
			return false, err
		}
		return false, sessions.ErrFenced
	})
	return err
}

// AwaitQueued returns when n jobs wait for the writer.
func (s *Store) AwaitQueued(n int) {
	for len(s.writer.queue) < n {
		runtime.Gosched()
	}
}

// Batches returns how many transactions the writer has committed.
func (s *Store) Batches() int64 { return s.writer.commits.Load() }

// LimitPages bounds the file's size, which stands in for a full disk.
func (s *Store) LimitPages(n int) error {
	_, err := doSolo(s.writer, func(l *link) (bool, error) { return true, l.pragmas(fmt.Sprintf("max_page_count = %d", n)) })
	return err
}

// TreePlans returns how SQLite would do the statements of the first transaction of
// a delete.
func (s *Store) TreePlans() (map[string]string, error) {
	none := "[]"
	statements := map[string]struct {
		query string
		args  []any
	}{
		"tree":     {selectTree, []any{"o", "a"}},
		"hide":     {hideLives, []any{1, none}},
		"claims":   {claimsOfLives, []any{1, none}},
		"unclaim":  {removeClaims, []any{none}},
		"children": {forgetChildren, []any{"o", none}},
		"origins":  {forgetOrigins, []any{"o", none}},
		"roots":    {makeRoots, []any{"o", none}},
	}
	return do(always, s.writer, func(t *tx) (map[string]string, error) {
		plans := map[string]string{}
		for name, statement := range statements {
			err := t.each(always, "EXPLAIN QUERY PLAN "+statement.query, func(row scanner) error {
				var id, parent, unused int
				var detail string
				err := row.Scan(&id, &parent, &unused, &detail)
				plans[name] += detail + "\n"
				return err
			}, statement.args...)
			if err != nil {
				return nil, err
			}
		}
		return plans, nil
	})
}

// ListPlan returns how SQLite would answer a list query, on its first page or
// on a later one.
func (s *Store) ListPlan(ctx context.Context, q sessions.SessionQuery, later bool) (plan string, err error) {
	l := newListing(q)
	if q.ByID && later {
		l.q.Cursor = "a"
	}
	if later {
		l.from = &listCursor{At: 1, ID: "a"}
	}
	query, args := l.query(q.Owner)
	if q.ByID {
		query, args = l.queryByID()
	}
	err = s.readers.read(ctx, func(db querier) error {
		return db.each(ctx, "EXPLAIN QUERY PLAN "+query, func(row scanner) error {
			var id, parent, unused int
			var detail string
			err := row.Scan(&id, &parent, &unused, &detail)
			plan += detail + "\n"
			return err
		}, args...)
	})
	return plan, err
}

// Pragma returns an option of the writer's connection.
func (s *Store) Pragma(name string) (string, error) {
	return doSolo(s.writer, func(l *link) (value string, err error) {
		err = l.conn.QueryRowContext(always, "PRAGMA "+name).Scan(&value)
		return value, err
	})
}

// OpenFiles returns how many files of frames the writer has open.
func (s *Store) OpenFiles() int {
	n, _ := do(always, s.writer, func(t *tx) (int, error) { return len(t.files.open), nil })
	return n
}

// FrameFolder returns where files of frames are.
func (s *Store) FrameFolder() string { return s.files.folder }

// HaveRoom lets the store believe that its disk has so much room, until restore.
func (s *Store) HaveRoom(bytes int64) (restore func()) {
	was := s.room
	s.room = func(string) (int64, error) { return bytes, nil }
	return func() { s.room = was }
}

// Size returns the size of the database, the journal applied.
func (s *Store) Size() (size int64, err error) {
	err = s.readers.read(always, func(q querier) error {
		return q.row(always, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(&size)
	})
	return size, err
}
