package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/sessions"
)

// later keeps the request ids of one lap apart from those of another.
const later = 1_000_000

// deletes measures what a delete of a large tree costs those who work beside it:
// the time of their turns while it goes on, against that of the same turns before.
func (b *bench) deletes(ctx context.Context) error {
	const workers = 32
	talk := conversations{sessions: b.scaled(1000), messages: 20, framed: 10, tree: true, claimEvery: 1}
	full := b.newFile()
	if err := talk.fill(ctx, full); err != nil {
		return err
	}
	var calm, busy []lap
	var took []float64
	for range b.rounds {
		file := b.newFile()
		if err := copyFile(full, file); err != nil {
			return err
		}
		before, during, removed, err := b.deleteLap(ctx, file, b.workers(workers))
		if err != nil {
			return err
		}
		calm, busy, took = append(calm, before), append(busy, during), append(took, removed.Seconds()*1000)
		b.say("delete of a tree: %.0f ms; turn p99 %.1f ms, before it %.1f ms", took[len(took)-1], during.quantile(0.99), before.quantile(0.99))
	}
	p50 := func(l lap) float64 { return l.quantile(0.5) }
	p99 := func(l lap) float64 { return l.quantile(0.99) }
	longest := func(l lap) float64 { return l.quantile(1) }
	load := plural(b.workers(workers), "session")
	what := fmt.Sprintf("a tree of %d is deleted", talk.sessions)
	b.table.add(row{"turn p50 while " + what + " (floor: before)", load, "ms", each(calm, p50), each(busy, p50), ""})
	b.table.add(row{"turn p99 while " + what + " (floor: before)", load, "ms", each(calm, p99), each(busy, p99), "≤ 3"})
	b.table.add(row{"longest turn meanwhile (floor: before)", load, "ms", each(calm, longest), each(busy, longest), ""})
	b.table.add(row{"delete of a tree, under that load", talk.load(), "ms", nil, took, ""})
	return nil
}

func (c conversations) load() string {
	return fmt.Sprintf("%d sessions × %d messages", c.sessions, c.messages)
}

// deleteLap loads a host, deletes its tree under the same load, and returns what
// both came to and how long the delete took.
func (b *bench) deleteLap(ctx context.Context, file string, workers int) (before, during lap, took time.Duration, err error) {
	h, _, err := openHost(ctx, file)
	if err != nil {
		return lap{}, lap{}, 0, err
	}
	defer h.Stop()
	if err := createHostSessions(ctx, h, workers); err != nil {
		return lap{}, lap{}, 0, err
	}
	turn := hostTurns(h)
	if before, err = drive(ctx, workers, b.lap, ownUsage, turn); err != nil {
		return before, lap{}, 0, err
	}
	stop, err := b.profileAs("delete")
	if err != nil {
		return before, lap{}, 0, err
	}
	during, took, err = under(ctx, workers, turn, func() error {
		result, err := h.SessionDelete(ctx, &api.SessionDeleteArgs{Address: api.Address{SessionID: "talk-0"}, DeleteGraceMs: new(int64(api.MaxDeleteGraceMs))})
		if err == nil && (!result.Deleted || !result.Receipt.Complete) {
			err = errors.New("the tree is not wholly deleted")
		}
		return err
	})
	return before, during, took, errors.Join(err, stop())
}

// under does work while warm workers make turns, and returns what the turns of
// that time came to and how long the work took.
func under(ctx context.Context, workers int, turn turnFunc, work func() error) (l lap, took time.Duration, err error) {
	done := make(chan struct{})
	var failed error
	go func() {
		defer close(done)
		began := time.Now()
		failed = work()
		took = time.Since(began)
	}()
	l, err = driveWhile(ctx, workers, func() bool {
		select {
		case <-done:
			return false
		default:
			return true
		}
	}, ownUsage, func(ctx context.Context, worker, n int) error { return turn(ctx, worker, later+n) })
	<-done
	return l, took, errors.Join(err, failed)
}

// clears measures a clear of everything while prompts arrive, against the bare
// driver's fastest way to come to the same file.
func (b *bench) clears(ctx context.Context) error {
	talk := conversations{sessions: b.scaled(100_000), messages: 20, framed: 1, claimEvery: 100}
	full := b.newFile()
	if err := talk.fill(ctx, full); err != nil {
		return err
	}
	var floors, hosts, waits []float64
	for range b.rounds {
		floor, err := b.onCopy(full, func(file string) (time.Duration, error) { return clearBare(ctx, file) })
		if err != nil {
			return err
		}
		var longest float64
		host, err := b.onCopy(full, func(file string) (took time.Duration, err error) {
			took, longest, err = b.clearHost(ctx, file)
			return took, err
		})
		if err != nil {
			return err
		}
		floors, hosts, waits = append(floors, floor), append(hosts, host), append(waits, longest)
		b.say("clear of %s: floor %.0f, host %.0f ms; longest turn %.0f ms", talk.load(), floor, host, longest)
	}
	b.table.add(row{"clear-all while prompts arrive", talk.load(), "ms", floors, hosts, "≤ 1.5"})
	b.table.add(row{"longest turn meanwhile", talk.load(), "ms", nil, waits, ""})
	return os.Remove(full)
}

// onCopy times a clear of a copy of a database, in ms.
func (b *bench) onCopy(full string, clearing func(file string) (time.Duration, error)) (float64, error) {
	file := b.newFile()
	if err := copyFile(full, file); err != nil {
		return 0, err
	}
	took, err := clearing(file)
	if kept := sizeOf(file); err == nil && kept > sizeOf(full)/4 {
		err = fmt.Errorf("the file is cleared and has %d bytes", kept)
	}
	return took.Seconds() * 1000, errors.Join(err, os.Remove(file))
}

// clearBare empties every table that hangs on sessions, and compacts the file.
func clearBare(ctx context.Context, file string) (took time.Duration, err error) {
	db, err := openBare(file, "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(0)", "secure_delete(0)")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tables, err := namesOf(ctx, db, `SELECT m.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c
        WHERE m.type = 'table' AND c.name = 'sid' ORDER BY m.name`)
	if err != nil {
		return 0, err
	}
	statements := []string{"BEGIN IMMEDIATE"}
	for _, table := range tables {
		statements = append(statements, "DELETE FROM "+table)
	}
	began := time.Now()
	for _, statement := range append(statements, "COMMIT", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)") {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return 0, fmt.Errorf("%s: %w", statement, err)
		}
	}
	return time.Since(began), nil
}

func namesOf(ctx context.Context, db *sql.DB, query string) ([]string, error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		all = append(all, name)
	}
	return all, rows.Err()
}

// clearHost clears all under a few sessions' load, and returns how long that took
// and, in ms, the longest of their turns meanwhile.
func (b *bench) clearHost(ctx context.Context, file string) (took time.Duration, longest float64, err error) {
	h, _, err := openHost(ctx, file)
	if err != nil {
		return 0, 0, err
	}
	defer h.Stop()
	turn := throughClears(h)
	if err := together(8, func(w int) error { return repeat(ctx, w, warmTurns, turn) }); err != nil {
		return 0, 0, err
	}
	stop, err := b.profileAs("clear")
	if err != nil {
		return 0, 0, err
	}
	l, took, err := under(ctx, 8, turn, func() error {
		result, err := h.SessionClearAll(ctx, &api.SessionClearAllArgs{})
		if err == nil && !result.Receipt.Compacted {
			err = errors.New("the file is not compacted")
		}
		return err
	})
	if err := errors.Join(err, stop()); err != nil {
		return 0, 0, err
	}
	return took, l.quantile(1), nil
}

// throughClears makes turns that a clear may take away.
func throughClears(h *host.Host) turnFunc {
	turn := hostTurns(h)
	return func(ctx context.Context, worker, n int) error {
		err := turn(ctx, worker, n)
		if sessions.CodeOf(err) == sessions.CodeSessionDeleted {
			return nil
		}
		return err
	}
}
