package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"
)

// Observer hears of the writer's transactions, so that they can be counted. Its
// methods are called by the one goroutine that writes, which waits for them.
type Observer interface {
	// Committed hears of a transaction that has become durable, with the number of
	// writes that shared it.
	Committed(writes int, took time.Duration)
	// Failed hears of writes that were answered with an error which is not a refusal.
	Failed(writes int)
}

// unobserved is the Observer of a store that nobody observes.
type unobserved struct{}

func (unobserved) Committed(int, time.Duration) {}
func (unobserved) Failed(int)                   {}

// Numbers is what a store tells of itself for those who operate it.
type Numbers struct {
	Waiting       int   // writes that wait for the writer
	DatabaseBytes int64 // of the database's file
	JournalBytes  int64 // of the journal beside it
	Unheard       int64 // deleted sessions that a hook has still to be told of
}

// Numbers looks at the store and its files.
func (s *Store) Numbers(ctx context.Context) (n Numbers, err error) {
	n.Waiting = len(s.writer.queue)
	if n.DatabaseBytes, err = sizeOf(s.full); err != nil {
		return n, unavailable("The store's file cannot be looked at.", err)
	}
	if n.JournalBytes, err = sizeOf(s.full + "-wal"); err != nil {
		return n, unavailable("The store's journal cannot be looked at.", err)
	}
	err = s.readers.read(ctx, func(q querier) error {
		return q.row(ctx, "SELECT count(*) FROM unheard_deletes").Scan(&n.Unheard)
	})
	return n, err
}

// sizeOf is the size of a file, 0 when there is none.
func sizeOf(path string) (int64, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
