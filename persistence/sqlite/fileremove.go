package sqlite

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"agenthost/sessions"
)

// removeLife removes the folder of a life that is over and returns how many
// files were in it. Nothing is added to it meanwhile: late writes are refused
// before they come to files. Another removal may be at the same folder: a delete
// that finds no session takes away what others have left.
func (k *fileFrames) removeLife(life sessions.Incarnation) (int64, error) {
	folder := k.lifeFolder(life)
	var removed int64
	for {
		names, err := someNames(folder)
		if err != nil || len(names) == 0 {
			return removed, errors.Join(err, ignoreMissing(os.Remove(folder)))
		}
		for _, name := range names {
			switch err := os.Remove(filepath.Join(folder, name)); {
			case err == nil:
				removed++
			case !errors.Is(err, fs.ErrNotExist):
				return removed, err
			}
		}
	}
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// someNames returns up to a chunk of names in a folder, none if there is none.
func someNames(folder string) ([]string, error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	names, err := f.Readdirnames(chunkRows)
	if errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist) { // it went while it was read
		err = nil
	}
	return names, errors.Join(err, f.Close())
}

// numbersIn returns the numbers that entries of a folder are named by.
func numbersIn(folder, suffix string) ([]int64, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	var numbers []int64
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), suffix)
		if n, err := strconv.ParseInt(name, 10, 64); ok && err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

// removeFoldersOf removes the files of lives. Their rows are removed afterwards, so
// that a sweep finds what a crash has left.
func (s *Store) removeFoldersOf(lives []sessions.Incarnation, r *removal) error {
	if _, err := os.Lstat(s.files.folder); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, life := range lives {
		if err := s.removeFolder(life, r); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) removeFolder(life sessions.Incarnation, r *removal) error {
	if s.isClosing() {
		s.tidy.Store(false)
		return sessions.ErrStoreClosed
	}
	removed, err := s.files.removeLife(life)
	r.addFiles(removed)
	if err != nil {
		s.tidy.Store(false)
	}
	return err
}

// removeFolders removes the files of all lives up to one, of whom there are no
// rows any more.
func (s *Store) removeFolders(upTo sessions.Incarnation, r *removal) error {
	lives, err := numbersIn(s.files.folder, "")
	for i := 0; err == nil && i < len(lives); i++ {
		if life := sessions.Incarnation(lives[i]); life <= upTo {
			err = s.removeFolder(life, r)
		}
	}
	return err
}

// removeStrays removes the files that a crash has left of what was never
// committed, or was removed already. Only the writer knows which those are,
// since a file is there before its rows are.
func (s *Store) removeStrays(ctx context.Context) error {
	lives, err := numbersIn(s.files.folder, "")
	for i := 0; err == nil && i < len(lives); i++ {
		err = s.removeStraysOf(ctx, sessions.Incarnation(lives[i]))
	}
	return err
}

const isLifeFiled = `SELECT EXISTS (SELECT 1 FROM sessions WHERE sid = ? AND filed = 1)`

// isFileUsed takes the file of no turn for used, as it is of a session's own.
const isFileUsed = `SELECT ?1 = 0 OR EXISTS (SELECT 1 FROM turns t JOIN sessions s ON s.sid = t.sid
    WHERE t.num = ?1 AND t.sid = ?2 AND (t.last_frame = 0 OR t.last_frame >= s.first_frame))`

func (s *Store) removeStraysOf(ctx context.Context, life sessions.Incarnation) error {
	turns, err := numbersIn(s.files.lifeFolder(life), framesSuffix)
	if err != nil {
		return err
	}
	filed, err := do(ctx, s.writer, func(t *tx) (filed bool, err error) {
		if err := t.row(always, isLifeFiled, life).Scan(&filed); err != nil || filed {
			return filed, err
		}
		_, err = t.files.removeLife(life) // here, since the life may yet be given out
		return false, err
	})
	if err != nil || !filed {
		return err
	}
	for chunk := range slices.Chunk(turns, chunkRows) {
		if _, err := do(ctx, s.writer, func(t *tx) (bool, error) { return true, dropStrays(t, life, chunk) }); err != nil {
			return err
		}
	}
	return nil
}

func dropStrays(t *tx, life sessions.Incarnation, turns []int64) error {
	for _, turn := range turns {
		var used bool
		if err := t.row(always, isFileUsed, turn, life).Scan(&used); err != nil {
			return err
		}
		if !used {
			t.files.useless = append(t.files.useless, frameFileID{life, turn})
		}
	}
	return nil
}
