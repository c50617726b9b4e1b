package sqlite

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
)

// frameFile is a file of frames open for reading, as far as it went when it was
// opened. Its frames have rising seqs; what is no frame is passed over.
type frameFile struct {
	file *os.File
	size int64
}

const (
	// scanBytes is how much of a file is read through rather than halved again.
	scanBytes = 64 << 10
	// probeBytes is what a look into the middle of a file reads at a time.
	probeBytes = 4 << 10
)

// openFrames opens a file for reading; nil when there is none.
func openFrames(path string) (*frameFile, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &frameFile{file, info.Size()}, nil
}

// lineScanner walks over the lines of a file that are frames.
type lineScanner struct {
	in    *bufio.Reader
	start int64 // of the line at hand
	end   int64 // behind it
	line  frameLine
	err   error // that of the file, nil at its end
}

// from returns a scanner of the lines that start at an offset or behind it.
// A file is entered in the middle of a line as a rule, so that what is left of
// that line is passed over first.
func (f *frameFile) from(offset int64, buffer int) *lineScanner {
	enter := max(0, offset-1)
	s := &lineScanner{in: bufio.NewReaderSize(io.NewSectionReader(f.file, enter, f.size-enter), buffer), end: enter}
	if offset > 0 {
		s.read()
	}
	return s
}

// read returns the next line with its line feed; false at the end of the file,
// and before a last line that has none.
func (s *lineScanner) read() ([]byte, bool) {
	line, err := s.in.ReadBytes('\n')
	if err != nil {
		if !errors.Is(err, io.EOF) {
			s.err = err
		}
		return nil, false
	}
	s.start, s.end = s.end, s.end+int64(len(line))
	return line, true
}

// next moves to the next frame that starts before an offset.
func (s *lineScanner) next(before int64) bool {
	for s.end < before {
		line, ok := s.read()
		if !ok {
			return false
		}
		if s.line, ok = parseLine(line[:len(line)-1]); ok {
			return true
		}
	}
	return false
}

// endBefore returns the offset behind the last frame whose seq is below seq: by
// halving the file, then reading on.
func (f *frameFile) endBefore(seq int64) (int64, error) {
	low, high := int64(0), f.size // frames that start before low are below seq, those from high on are not
	for high-low > scanBytes {
		middle := low + (high-low)/2
		probe := f.from(middle, probeBytes)
		switch found := probe.next(high); {
		case probe.err != nil:
			return 0, probe.err
		case found && probe.line.seq < seq:
			low = probe.end
		default:
			high = middle
		}
	}
	end := low
	scan := f.from(low, scanBytes)
	for scan.next(f.size) && scan.line.seq < seq {
		end = scan.end
	}
	return end, scan.err
}

// between calls yield with the frames from one seq to another, inclusive.
func (f *frameFile) between(from, to int64, yield func(frameLine) error) error {
	start, err := f.endBefore(from)
	if err != nil {
		return err
	}
	scan := f.from(start, scanBytes)
	for scan.next(f.size) && scan.line.seq <= to {
		if scan.line.seq < from {
			continue
		}
		if err := yield(scan.line); err != nil {
			return err
		}
	}
	return scan.err
}
