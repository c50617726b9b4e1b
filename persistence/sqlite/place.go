package sqlite

import (
	"os"
	"sync/atomic"

	"agenthost/sessions"
)

// place is where the store's files are. When others are put in their place, or
// they are removed, what is written goes to files that nobody will find again;
// so the store looks before it writes. Looking opens nothing: closing a second
// descriptor of the database would drop SQLite's locks on it.
type place struct {
	path    string
	file    os.FileInfo                 // of the database
	journal atomic.Pointer[os.FileInfo] // of its write-ahead log; nil until there is one
}

// placeOf remembers the database that a connection has open.
func placeOf(path string) (*place, error) {
	file, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	p := &place{path: path, file: file}
	p.noteJournal()
	return p, nil
}

// noteJournal remembers the journal, which a new connection may have made anew.
func (p *place) noteJournal() {
	if now, err := os.Stat(p.path + "-wal"); err == nil {
		p.journal.Store(&now)
	}
}

// forgetJournal allows for a journal that the last connection to close takes
// away, and the next one makes.
func (p *place) forgetJournal() { p.journal.Store(nil) }

// check answers STORE_UNAVAILABLE unless the files are still in their place.
// Putting them back is enough for the store to go on.
func (p *place) check() error {
	now, err := os.Stat(p.path)
	if err != nil || !os.SameFile(now, p.file) {
		return errMoved.Because(err)
	}
	journal := p.journal.Load()
	if journal == nil {
		return nil
	}
	now, err = os.Stat(p.path + "-wal")
	if err != nil || !os.SameFile(now, *journal) {
		return errMoved.Because(err)
	}
	return nil
}

var errMoved = sessions.Errorf(sessions.CodeStoreUnavailable,
	"The store's file was replaced or removed under the host; put it back, or restart the host to serve what is there now.")
