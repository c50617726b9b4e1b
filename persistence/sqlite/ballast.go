package sqlite

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

const (
	// ballastSuffix names the file beside the database that only takes room.
	ballastSuffix = ".ballast"
	// ballastBytes is enough for the transactions of a delete and for moving the
	// journal that they follow into the database.
	ballastBytes = 4 << 20
	// checkpointPages is how many pages of 4 KiB the journal may have before it is
	// moved into the database. Together they are less than the ballast: on a full
	// disk the room that it frees must take a whole journal.
	checkpointPages = 900
)

// ballast is a file that takes room on the store's disk. On a full disk even a
// delete needs some, since it is written to the journal first; then the ballast
// is thrown off. It is taken in again when there is room.
type ballast struct{ path string }

// takeIn makes the file unless it is there. What it holds cannot be compressed
// away. A file that does not fit is given up.
func (b ballast) takeIn() error {
	file, err := os.OpenFile(b.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	noise := make([]byte, 64<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise) // never fails
	for written := 0; written < ballastBytes && err == nil; written += len(noise) {
		_, err = file.Write(noise)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(b.path))
	}
	return nil
}

// takeInBallast takes the ballast in. A disk without room for it is no fault: it
// is tried again with every sweep.
func (s *Store) takeInBallast() {
	if err := s.ballast.takeIn(); err != nil {
		s.log.Warn("the store has no ballast; on a full disk deletes may fail", "error", err)
	}
}

// throwOff removes the file.
func (b ballast) throwOff() error { return ignoreMissing(os.Remove(b.path)) }

// isFull reports whether err says that the disk is full.
func isFull(err error) bool {
	raw, ok := errors.AsType[*driver.Error](err)
	return ok && raw.Code()&0xff == lib.SQLITE_FULL
}

// deleting is a part of a delete, and is tried again when the disk was full: with
// the room that the ballast took, then with that of the journal. Moving the
// journal into the database needs room itself at first, so it comes second.
func deleting[R any](s *Store, try func() (R, error)) (R, error) {
	r, err := try()
	for _, makeRoom := range []func() error{s.ballast.throwOff, s.emptyJournal} {
		if !isFull(err) {
			return r, err
		}
		s.log.Warn("the disk is full; a delete makes room for itself", "error", makeRoom())
		r, err = try()
	}
	return r, err
}

// emptyJournal moves what the journal holds into the database.
func (s *Store) emptyJournal() error {
	_, err := doSolo(s.writer, (*link).emptyJournal)
	return err
}
