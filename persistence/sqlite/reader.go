package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"

	"agenthost/sessions"
)

// readers answers questions on a fixed number of read-only connections.
type readers struct {
	db   *sql.DB
	at   *place
	log  *slog.Logger
	free chan *snapshot // each is in the channel or of one read

	mu     sync.RWMutex // held for reading by every read under way
	closed bool
}

// snapshot is a read-only connection inside one short transaction: all its rows
// are of one moment.
type snapshot struct {
	conn       *sql.Conn // nil until the first read, and after a failure
	statements map[string]*sql.Stmt
}

func newReaders(db *sql.DB, at *place, count int, log *slog.Logger) *readers {
	r := &readers{db: db, at: at, log: log, free: make(chan *snapshot, count)}
	for range count {
		r.free <- &snapshot{}
	}
	return r
}

// read runs f on a snapshot that holds every write acknowledged before.
func (r *readers) read(ctx context.Context, f func(querier) error) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed {
		return sessions.ErrStoreClosed
	}
	if err := r.at.check(); err != nil {
		return err
	}
	select {
	case s := <-r.free:
		defer func() { r.free <- s }()
		return translate(s.run(ctx, r, f))
	case <-ctx.Done():
		return translate(context.Cause(ctx))
	}
}

// run opens the transaction, on a new connection when there is none or the old
// one is of no use.
func (s *snapshot) run(ctx context.Context, r *readers, f func(querier) error) error {
	if s.conn == nil || s.exec("BEGIN") != nil {
		if err := s.redial(ctx, r.db); err != nil {
			return err
		}
		if err := s.exec("BEGIN"); err != nil {
			return err
		}
	}
	err := f(s)
	if endErr := s.exec("ROLLBACK"); endErr != nil {
		r.log.Warn("a read connection is given up", "error", endErr, "close", s.drop())
	}
	return err
}

func (s *snapshot) exec(query string) error {
	stmt, err := s.prepared(always, query)
	if err == nil {
		_, err = stmt.ExecContext(always)
	}
	return err
}

func (s *snapshot) redial(ctx context.Context, db *sql.DB) error {
	if s.conn != nil {
		if err := s.drop(); err != nil {
			return err
		}
	}
	conn, err := db.Conn(ctx)
	if err == nil {
		s.conn, s.statements = conn, map[string]*sql.Stmt{}
	}
	return err
}

func (s *snapshot) drop() error {
	conn, statements := s.conn, s.statements
	s.conn, s.statements = nil, nil
	return closeConn(conn, statements)
}

// close waits for reads under way and refuses later ones.
func (r *readers) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	var errs []error
	for range cap(r.free) {
		if s := <-r.free; s.conn != nil {
			errs = append(errs, s.drop())
		}
	}
	return errors.Join(append(errs, r.db.Close())...)
}

func (s *snapshot) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if known, ok := s.statements[query]; ok {
		return known, nil
	}
	fresh, err := s.conn.PrepareContext(ctx, query)
	if err == nil {
		s.statements[query] = fresh
	}
	return fresh, err
}

func (s *snapshot) row(ctx context.Context, query string, args ...any) scanner {
	stmt, err := s.prepared(ctx, query)
	if err != nil {
		return failedRow{err}
	}
	return stmt.QueryRowContext(ctx, args...)
}

func (s *snapshot) each(ctx context.Context, query string, scan func(scanner) error, args ...any) error {
	stmt, err := s.prepared(ctx, query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	return eachRow(rows, scan)
}
