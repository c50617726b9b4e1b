package sqlite

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"

	"agenthost/sessions"
)

// Store is a sessions.Store in one file. Use Open to get one.
type Store struct {
	path       string // as it was given
	full       string // as it is on the disk
	durability string
	log        *slog.Logger
	lock       *fileLock
	ballast    ballast
	writer     *writer
	readers    *readers
	files      *fileFrames
	tombs      tombstones
	clean      bool  // the last process closed the store
	filed      bool  // new sessions keep their frames in files
	keep       int64 // how many frames a session keeps; negative for all

	room func(folder string) (bytes int64, err error) // free on the disk of a folder

	underway underway

	tidy atomic.Bool // no file is left of what is gone

	closing    chan struct{}  // closed by Close; removals stop between chunks
	mu         sync.Mutex     // guards background against Close
	background sync.WaitGroup // deletes, which outlive a caller that gave up
	closeOnce  func() error
}

var _ sessions.Store = (*Store)(nil)

// Open opens the database at path, making it if there is none, and brings its
// schema up to date. One process at a time may have it: CONFLICT names the
// holder's pid. A database of a newer program is CONFLICT too. ctx bounds the
// opening only.
func Open(ctx context.Context, path string, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	if cfg.Durability != DurabilityPower && cfg.Durability != DurabilityProcess {
		return nil, sessions.InvalidField("/store/durability", "Durability is %q or %q, not %q.",
			DurabilityPower, DurabilityProcess, cfg.Durability)
	}
	if cfg.Frames != FramesRecord && cfg.Frames != FramesFile {
		return nil, sessions.InvalidField("/store/frames", "Frames are kept as %q or %q, not as %q.",
			FramesRecord, FramesFile, cfg.Frames)
	}
	full, err := realPath(path)
	if sessions.CodeOf(err) == sessions.CodeConflict {
		return nil, err
	}
	if err != nil {
		return nil, unavailable("The store's path cannot be followed to its end.", err)
	}
	folder, err := filepath.Abs(cmp.Or(cfg.FrameFolder, full+framesSuffix))
	if err != nil {
		return nil, unavailable("The path of the frames' folder cannot be made absolute.", err)
	}
	lock, err := lockFile(full)
	if err != nil {
		return nil, err
	}
	if err := makePrivate(full); err != nil {
		return nil, errors.Join(unavailable("The store's file cannot be opened for writing; check its path and permissions.", err), lock.release())
	}
	s := &Store{path: path, full: full, room: roomIn, durability: cfg.Durability, log: cfg.Logger, lock: lock, closing: make(chan struct{}),
		ballast: ballast{full + ballastSuffix}, files: newFileFrames(folder, cfg.Logger), filed: cfg.Frames == FramesFile, keep: cfg.FramesPerSession}
	s.closeOnce = sync.OnceValue(s.shut)
	if err := s.start(ctx, full, cfg); err != nil {
		return nil, errors.Join(err, lock.release())
	}
	return s, nil
}

// realPath returns the absolute path of the file behind all links: SQLite follows
// them, and the files beside the database must be the same ones for every host.
func realPath(path string) (string, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	target, err := filepath.EvalSymlinks(full)
	if err == nil {
		return target, onlyName(target)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return target, err
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(full)); err == nil {
		return filepath.Join(folder, filepath.Base(full)), nil
	}
	return full, nil // what is missing is said by who opens it
}

// onlyName refuses a file with a second name: the lock, the journal and the frames
// go by the name, so two hosts could have it at once.
func onlyName(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok && !info.IsDir() && sys.Nlink > 1 {
		return sessions.Errorf(sessions.CodeConflict, "The store's file has %d names; remove the other hard links.", sys.Nlink)
	}
	return nil
}

// makePrivate makes the file, if there is none, so that only its owner can read
// the conversations in it; SQLite gives its journal the same permissions. It
// happens before SQLite opens the file: closing it later would drop its locks.
func makePrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// start opens the connections and the writer. On an error none is left open.
func (s *Store) start(ctx context.Context, full string, cfg Config) error {
	dial := func() (*link, error) { return dialWriter(always, full, cfg.Durability) }
	first, err := dialWriter(ctx, full, cfg.Durability)
	if err != nil {
		return translate(err)
	}
	opening, err := s.enter(ctx, first)
	if err != nil {
		first.close(s.log)
		return translate(err)
	}
	pool, err := openReaders(full)
	if err != nil {
		first.close(s.log)
		return translate(err)
	}
	at, err := placeOf(full)
	if err != nil {
		first.close(s.log)
		return errors.Join(unavailable("The store's file cannot be found.", err), pool.Close())
	}
	s.tombs = tombstones{key: opening.tombstoneKey}
	s.clean = opening.clean
	s.tidy.Store(opening.clean && opening.tidy)
	s.readers = newReaders(pool, at, cfg.Readers, s.log)
	s.writer = startWriter(first, at, opening.newest, s.files, cfg, dial)
	s.takeInBallast()
	return nil
}

// Describe names the store and its durability.
func (s *Store) Describe() sessions.StoreInfo {
	return sessions.StoreInfo{Name: "sqlite:" + filepath.Base(s.path), Durability: s.durability}
}

// ClosedCleanly reports whether the last process closed the store; see the port.
func (s *Store) ClosedCleanly() bool { return s.clean }

// CheckWritable writes to the host's own row.
func (s *Store) CheckWritable(ctx context.Context) error {
	_, err := do(ctx, s.writer, func(t *tx) (int64, error) {
		return t.exec("UPDATE host SET checks = checks + 1 WHERE one = 1")
	})
	return err
}

// Close waits for writes under way, closes the file and gives up its lock.
func (s *Store) Close() error { return s.closeOnce() }

func (s *Store) shut() error {
	s.mu.Lock()
	close(s.closing)
	s.mu.Unlock()
	s.background.Wait()
	_, marked := doPatiently(s.writer, func(t *tx) (int64, error) {
		return t.exec("UPDATE host SET closed = 1, tidy = ? WHERE one = 1", s.tidy.Load())
	})
	if marked != nil {
		s.log.Warn("the store is closed, but cannot say so to the next host", "error", marked)
	}
	// The writer's connection goes last: only the last one to go can move what
	// the journal holds into the file, and a reader cannot.
	readers := s.readers.close()
	s.writer.stop()
	return translate(errors.Join(readers, s.lock.release()))
}

// goBackground runs f so that Close waits for it, or answers STORE_UNAVAILABLE.
func (s *Store) goBackground(f func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosing() {
		return sessions.ErrStoreClosed
	}
	s.background.Go(f)
	return nil
}

func (s *Store) isClosing() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}
