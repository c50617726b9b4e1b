package main

import (
	"context"
	"database/sql"
	"errors"
	"net/url"

	_ "modernc.org/sqlite" // the driver named "sqlite"

	"agenthost/persistence/sqlite"
)

// floorBatch is how many jobs share a transaction at most, as in the store.
const floorBatch = 256

// floor is the bare driver: one connection with prepared statements, owned by
// one goroutine that commits what waits in groups.
type floor struct {
	db         *sql.DB
	conn       *sql.Conn
	statements map[string]*sql.Stmt
	queue      chan floorJob
	done       chan struct{}
}

// floorJob is one transaction's worth of statements.
type floorJob struct {
	run    func(*floor) error
	answer chan error
}

// openFloor makes a database with the host's own tables, and opens it.
func openFloor(ctx context.Context, file string) (*floor, error) {
	store, err := sqlite.Open(ctx, file, sqlite.Config{})
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	db, err := openBare(file, "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "secure_delete(1)", "wal_autocheckpoint(900)")
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	f := &floor{db: db, conn: conn, statements: map[string]*sql.Stmt{},
		queue: make(chan floorJob, 16_384), done: make(chan struct{})}
	go f.loop()
	return f, nil
}

// openBare opens a file with the driver and nothing around it.
func openBare(file string, pragmas ...string) (*sql.DB, error) {
	query := url.Values{"_txlock": {"immediate"}, "_pragma": append([]string{"busy_timeout(5000)", "temp_store(2)"}, pragmas...)}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: file, RawQuery: query.Encode()}).String())
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

func (f *floor) close() error {
	close(f.queue)
	<-f.done
	var errs []error
	for _, s := range f.statements { // one left open would keep the write-ahead log
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, f.conn.Close(), f.db.Close())...)
}

// commit runs a job in the next transaction and returns once that is durable.
func (f *floor) commit(run func(*floor) error) error {
	answer := make(chan error, 1)
	f.queue <- floorJob{run, answer}
	return <-answer
}

func (f *floor) loop() {
	defer close(f.done)
	for first := range f.queue {
		batch := f.drain(first)
		err := f.transact(batch)
		for _, j := range batch {
			j.answer <- err
		}
	}
}

func (f *floor) drain(first floorJob) []floorJob {
	batch := []floorJob{first}
	for len(batch) < floorBatch {
		select {
		case j, ok := <-f.queue:
			if !ok {
				return batch
			}
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// transact stores a batch. A failure ends the measurement, so nothing is tried again.
func (f *floor) transact(batch []floorJob) error {
	if _, err := f.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for _, j := range batch {
		if err := j.run(f); err != nil {
			_, rollback := f.exec("ROLLBACK")
			return errors.Join(err, rollback)
		}
	}
	_, err := f.exec("COMMIT")
	return err
}

func (f *floor) exec(query string, args ...any) (sql.Result, error) {
	s := f.statements[query]
	if s == nil {
		fresh, err := f.conn.PrepareContext(context.Background(), query)
		if err != nil {
			return nil, err
		}
		f.statements[query], s = fresh, fresh
	}
	return s.ExecContext(context.Background(), args...)
}
