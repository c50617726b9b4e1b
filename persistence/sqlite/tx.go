package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"

	"agenthost/sessions"
)

// scanner is a row, or what stands for one.
type scanner interface{ Scan(dest ...any) error }

// querier asks questions: the writer's transaction and the readers' both do.
type querier interface {
	// row returns the first row of the answer; its Scan gives sql.ErrNoRows.
	row(ctx context.Context, query string, args ...any) scanner
	// each calls scan with every row of the answer.
	each(ctx context.Context, query string, scan func(scanner) error, args ...any) error
}

// failedRow is a row that could not be asked for.
type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }

// always is the context of the writer's statements. A caller's never reaches
// them: a statement cut short would take the whole batch with it.
var always = context.Background()

// link is the writer's connection, the only one of its pool.
type link struct {
	db   *sql.DB
	conn *sql.Conn
	tx   *tx
}

func newLink(ctx context.Context, db *sql.DB) (*link, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	clock := new(sessions.Time)
	return &link{db: db, conn: conn, tx: &tx{conn: conn, statements: map[string]*sql.Stmt{}, clock: clock, recent: recentRows{}}}, nil
}

// close also ends a transaction that is open.
func (l *link) close(log *slog.Logger) {
	if err := errors.Join(closeConn(l.conn, l.tx.statements), l.db.Close()); err != nil {
		log.Warn("closing the store's connection failed", "error", err)
	}
}

// closeConn closes a connection's statements and then itself. A statement that
// is left open keeps the connection, and its locks, alive.
func closeConn(conn *sql.Conn, statements map[string]*sql.Stmt) error {
	var errs []error
	for _, s := range statements {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, conn.Close())...)
}

// pragmas sets options of the connection.
func (l *link) pragmas(settings ...string) error {
	for _, setting := range settings {
		if _, err := l.conn.ExecContext(always, "PRAGMA "+setting); err != nil {
			return err
		}
	}
	return nil
}

// emptyJournal moves what the journal holds into the file, and gives its space
// back. It reports false when a reader was in the way.
func (l *link) emptyJournal() (bool, error) {
	var busy, frames, moved int
	err := l.conn.QueryRowContext(always, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved)
	return busy == 0, err
}

// tx is what a job may use: statements on the writer's connection, inside the
// batch's transaction. It is of the writer's goroutine alone.
type tx struct {
	conn       *sql.Conn
	statements map[string]*sql.Stmt // prepared once each, for the connection's life
	wrote      bool                 // the job at hand has changed a row
	kept       bool                 // and has kept recent up to date
	recent     recentRows
	clock      *sessions.Time
	files      *fileFrames
}

// activeAt returns the time to store as an activity's: now, or the newest one
// issued if the clock was set back, so that it never orders sessions wrongly.
func (t *tx) activeAt(now sessions.Time) sessions.Time {
	*t.clock = max(*t.clock, now)
	return *t.clock
}

func (t *tx) prepared(query string) (*sql.Stmt, error) {
	if s, ok := t.statements[query]; ok {
		return s, nil
	}
	s, err := t.conn.PrepareContext(always, query)
	if err == nil {
		t.statements[query] = s
	}
	return s, err
}

func (t *tx) result(query string, args []any) (sql.Result, error) {
	s, err := t.prepared(query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(always, args...)
}

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
	r, err := t.result(query, args)
	if err != nil {
		return 0, err
	}
	n, err := r.RowsAffected()
	t.wrote = t.wrote || n > 0
	return n, err
}

// insert runs a statement and returns the row id it made.
func (t *tx) insert(query string, args ...any) (int64, error) {
	r, err := t.result(query, args)
	if err != nil {
		return 0, err
	}
	t.wrote = true
	return r.LastInsertId()
}

func (t *tx) row(_ context.Context, query string, args ...any) scanner {
	s, err := t.prepared(query)
	if err != nil {
		return failedRow{err}
	}
	return s.QueryRowContext(always, args...)
}

func (t *tx) each(_ context.Context, query string, scan func(scanner) error, args ...any) error {
	s, err := t.prepared(query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(always, args...)
	if err != nil {
		return err
	}
	return eachRow(rows, scan)
}

// eachRow walks rows and closes them.
func eachRow(rows *sql.Rows, scan func(scanner) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
