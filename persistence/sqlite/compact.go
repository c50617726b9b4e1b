package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"agenthost/sessions"
)

// Compact removes the last of what was deleted; see the port. Once begun it goes
// on to its end even if the caller stops waiting.
func (s *Store) Compact(ctx context.Context, dryRun bool) (sessions.Compaction, error) {
	if ctx.Err() != nil {
		return sessions.Compaction{}, sessions.ErrOutcomeUnknown.Because(context.Cause(ctx))
	}
	var c sessions.Compaction
	done := make(chan error, 1)
	err := s.goBackground(func() { done <- s.compaction(dryRun, &c) })
	if err != nil {
		return sessions.Compaction{}, err
	}
	select {
	case err := <-done:
		return c, translate(err)
	case <-ctx.Done():
		return sessions.Compaction{}, sessions.ErrOutcomeUnknown.Because(context.Cause(ctx))
	}
}

func (s *Store) compaction(dryRun bool, c *sessions.Compaction) (err error) {
	if c.Files, c.BytesBefore, err = s.contents(); err != nil {
		return err
	}
	if c.BytesAfter = c.BytesBefore; dryRun {
		return nil
	}
	// At once and whole, so that it is not moved with what stays.
	if err := s.removeAllHidden(""); err != nil {
		return err
	}
	if err := s.sweepStrays(always); err != nil {
		return err
	}
	if err := s.checkRoom(); err != nil {
		return err
	}
	if err := s.compact(); err != nil {
		return err
	}
	c.Files, c.BytesAfter, err = s.contents()
	return err
}

// compact gives the space of what was deleted back, and with it the last of the
// deleted bytes. A journal that readers hold is tried again, with other writes
// in between.
func (s *Store) compact() error {
	if _, err := doSoloPatiently(s.writer, s.vacuum); err != nil {
		return err
	}
	for range journalTries {
		if s.isClosing() {
			return sessions.ErrStoreClosed
		}
		empty, err := doSoloPatiently(s.writer, (*link).emptyJournal)
		if err != nil || empty {
			return err
		}
	}
	return errRead
}

// journalTries is how often a compaction tries to empty the journal; each of
// them waits for readers as long as busy_timeout says.
const journalTries = 4

var errRead = sessions.Errorf(sessions.CodeStoreUnavailable,
	"The store is compacted, but a long read keeps its journal from being emptied; end what reads the file and try again.")

// vacuum writes the database anew without what was deleted. The copy that it
// makes on the way is as large as what is kept, so that it is no matter for
// memory, where other temporary things go: it is a file without a name in the
// folder of the database. That folder is an option of the whole process, which
// does no harm, as nothing else makes such files.
func (s *Store) vacuum(l *link) (done bool, err error) {
	folder := strings.ReplaceAll(filepath.Dir(s.full), "'", "''")
	if err := l.pragmas("temp_store_directory = '"+folder+"'", "temp_store = 1"); err != nil {
		return false, err
	}
	_, err = l.conn.ExecContext(always, "VACUUM")
	return err == nil, errors.Join(err, l.pragmas("temp_store = 2"))
}

// checkRoom refuses a vacuum for which the disk has too little room. What is kept
// is written twice, to the copy and to the journal.
func (s *Store) checkRoom() error {
	var size, kept int64
	err := s.readers.read(always, func(q querier) error {
		return q.row(always, `SELECT page_count * page_size, (page_count - freelist_count) * page_size
            FROM pragma_page_count, pragma_page_size, pragma_freelist_count`).Scan(&size, &kept)
	})
	if err != nil {
		return err
	}
	have, err := s.room(filepath.Dir(s.full))
	if err != nil {
		return unavailable("The free space of the store's disk cannot be found.", err)
	}
	if need := max(size, 2*kept); have < need {
		return sessions.Errorf(sessions.CodeStoreUnavailable,
			"Compacting the store needs %d bytes of free space and its disk has %d; free space and try again.", need, have).
			With("needBytes", need).With("haveBytes", have)
	}
	return nil
}

// roomIn returns how many bytes may still be written to the disk of a folder.
func roomIn(folder string) (int64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(folder, &disk); err != nil {
		return 0, err
	}
	return int64(disk.Bavail * uint64(disk.Bsize)), nil
}

// contents returns the files and the folder that hold the store, and how many
// bytes are in them. It opens none of them: closing the database again would
// drop SQLite's locks on it.
func (s *Store) contents() (paths []string, bytes int64, err error) {
	for _, path := range []string{s.full, s.full + "-wal", s.full + "-shm", s.full + ballastSuffix, s.full + lockSuffix, s.files.folder} {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		paths = append(paths, path)
		size, err := bytesIn(path)
		if err != nil {
			return nil, 0, err
		}
		bytes += size
	}
	return paths, bytes, nil
}

// bytesIn returns the size of a file, or of all files below a folder. Some may go
// while it looks.
func bytesIn(path string) (bytes int64, err error) {
	err = filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = entry.Info(); err == nil {
				bytes += info.Size()
			}
		}
		return ignoreMissing(err)
	})
	return bytes, err
}
