package sqlite

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// flush writes what the batch adds, one write a file. After an error undo takes
// back what was written.
func (k *fileFrames) flush() error {
	for _, p := range k.pending {
		f, err := k.opened(p)
		if err != nil {
			return err
		}
		p.into = f
		if _, err := f.file.WriteAt(p.data, f.size); err != nil {
			return err
		}
	}
	return nil
}

// opened returns the file of pending frames, cut to what is committed.
func (k *fileFrames) opened(p *pendingFrames) (*growingFile, error) {
	k.clock++
	if f := k.open[p.id]; f != nil && !p.fresh {
		f.used = k.clock
		return f, nil
	}
	k.forget(p.id)
	file, err := k.create(p)
	if err != nil {
		return nil, err
	}
	f := &growingFile{file: file, used: k.clock}
	if !p.fresh {
		if f.size, err = cutBack(file, p.first); err != nil {
			return nil, errors.Join(err, file.Close())
		}
	}
	k.open[p.id] = f
	return f, nil
}

func (k *fileFrames) create(p *pendingFrames) (*os.File, error) {
	flags := os.O_RDWR | os.O_CREATE
	if p.fresh {
		flags |= os.O_TRUNC
	}
	path := k.path(p.id)
	file, err := os.OpenFile(path, flags, 0o600)
	if !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(path, flags, 0o600)
}

// cutBack removes what a file has beyond the frames below first: frames of a
// transaction that was never committed, and the rest of one cut short.
func cutBack(file *os.File, first int64) (int64, error) {
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return 0, err
	}
	size, err := (&frameFile{file, info.Size()}).endBefore(first)
	if err != nil || size == info.Size() {
		return size, err
	}
	return size, file.Truncate(size)
}

// undo takes back what a batch that is not committed has written. A file that
// cannot be cut now is cut when it is opened for the next frames.
func (k *fileFrames) undo() {
	for _, p := range k.pending {
		switch {
		case p.into == nil:
		case p.fresh:
			k.forget(p.id)
			path := k.path(p.id)
			if err := os.Remove(path); err != nil {
				k.log.Warn("a file of frames is left for the next sweep", "error", err)
			}
			_ = os.Remove(filepath.Dir(path)) // fails unless it is empty, as it must
		default:
			if err := p.into.file.Truncate(p.into.size); err != nil {
				k.log.Warn("a file of frames is cut back later", "error", err)
				k.forget(p.id)
			}
		}
	}
	k.reset()
}

// done follows a commit: what was written stays.
func (k *fileFrames) done() {
	for _, p := range k.pending {
		p.into.size += int64(len(p.data))
		if p.last {
			k.forget(p.id)
		}
	}
	for _, id := range k.useless {
		k.forget(id)
		if err := os.Remove(k.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			k.log.Warn("a file of frames is left for the next sweep", "error", err)
		}
	}
	if k.allOver || len(k.over) > 0 {
		k.closeWhere(func(id frameFileID) bool { return k.allOver || slices.Contains(k.over, id.life) })
	}
	k.closeIdle()
	k.reset()
}

func (k *fileFrames) reset() {
	clear(k.pending)
	clear(k.byFile)
	k.pending, k.useless, k.over, k.allOver = k.pending[:0], k.useless[:0], k.over[:0], false
}

func (k *fileFrames) forget(id frameFileID) {
	f := k.open[id]
	if f == nil {
		return
	}
	delete(k.open, id)
	if err := f.file.Close(); err != nil {
		k.log.Warn("closing a file of frames failed", "error", err)
	}
}

func (k *fileFrames) closeWhere(which func(frameFileID) bool) {
	for id := range k.open {
		if which(id) {
			k.forget(id)
		}
	}
}

func (k *fileFrames) closeAll() { k.closeWhere(func(frameFileID) bool { return true }) }

// closeIdle closes those files that were not used for longest.
func (k *fileFrames) closeIdle() {
	excess := len(k.open) - maxOpenFiles
	if excess <= 0 {
		return
	}
	ids := slices.SortedFunc(maps.Keys(k.open), func(a, b frameFileID) int { return cmp.Compare(k.open[a].used, k.open[b].used) })
	for _, id := range ids[:excess] {
		k.forget(id)
	}
}
