package search

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Order says what to look for, and where.
type Order struct {
	Paths []string `json:"paths"` // files, and folders with everything in them
	Texts []string `json:"texts"` // none of them empty
}

// Report says what was found.
type Report struct {
	Files int64   `json:"files"` // that were read
	Bytes int64   `json:"bytes"` // that were in them
	Found []Place `json:"found"` // the first place of each text that is anywhere
}

// Place is where a text is.
type Place struct {
	Text   int    `json:"text"` // its index in the order
	Path   string `json:"path"`
	Offset int64  `json:"offset"` // in bytes
}

// Run reads the files in their order. What is not there, or goes meanwhile, holds
// nothing; what cannot be read is an error.
func Run(ctx context.Context, o Order) (Report, error) {
	s := &run{}
	for i, text := range o.Texts {
		t := sought{index: i, forms: formsOf(text)}
		for _, form := range t.forms {
			s.overlap = max(s.overlap, len(form)-1)
		}
		s.missing = append(s.missing, t)
	}
	s.buffer = make([]byte, max(1<<20, 2*s.overlap))
	for _, path := range o.Paths {
		err := filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				err = s.file(ctx, path)
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
		if err != nil {
			return Report{}, err
		}
	}
	return s.report, nil
}

// sought is a text that has not been found yet.
type sought struct {
	index int
	forms [][]byte
}

// run is a search under way.
type run struct {
	missing []sought
	overlap int    // how much of a block may be the beginning of a text
	buffer  []byte // more than the overlap
	report  Report
}

// file reads a file block by block. A block begins with the end of the one
// before, so that no text is cut in two.
func (s *run) file(ctx context.Context, path string) error {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return err
	}
	defer f.Close()
	s.report.Files++
	var at int64 // of the block in the file
	kept := 0
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := io.ReadFull(f, s.buffer[kept:])
		s.report.Bytes += int64(n)
		block := s.buffer[:kept+n]
		s.block(block, path, at)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
		kept = copy(s.buffer, block[len(block)-s.overlap:])
		at += int64(len(block) - kept)
	}
}

// block looks for what is still missing.
func (s *run) block(block []byte, path string, at int64) {
	var missing []sought
	for _, t := range s.missing {
		first := -1
		for _, form := range t.forms {
			if i := bytes.Index(block, form); i >= 0 && (first < 0 || i < first) {
				first = i
			}
		}
		if first < 0 {
			missing = append(missing, t)
			continue
		}
		s.report.Found = append(s.report.Found, Place{Text: t.index, Path: path, Offset: at + int64(first)})
	}
	s.missing = missing
}
