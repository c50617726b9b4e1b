package sqlite

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"agenthost/sessions"
)

// lockSuffix names the side file that says which process has the database. It
// is a file of its own, since closing a second descriptor of the database
// itself would drop SQLite's locks on it.
const lockSuffix = ".lock"

// fileLock holds the side file of one database for one process.
type fileLock struct{ file *os.File }

// lockFile takes the lock, or answers CONFLICT naming the holder's pid.
func lockFile(path string) (*fileLock, error) {
	file, err := os.OpenFile(path+lockSuffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, unavailable("The store's lock file cannot be opened; check that its folder exists and is writable.", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer file.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, unavailable("The store's lock file cannot be locked.", err)
		}
		return nil, sessions.Errorf(sessions.CodeConflict,
			"The store is in use by process %s; stop that host or choose another file.", holder(path)).Because(err)
	}
	if err := writePID(file); err != nil {
		return nil, errors.Join(unavailable("The store's lock file cannot be written.", err), file.Close())
	}
	return &fileLock{file}, nil
}

func writePID(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	return err
}

// Holder returns the process that a database was opened by last, and has open unless
// it has ended since; 0 when there is none.
func Holder(path string) int {
	text, err := os.ReadFile(path + lockSuffix)
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

func holder(path string) string {
	if pid := Holder(path); pid > 0 {
		return strconv.Itoa(pid)
	}
	return "unknown"
}

// release gives the lock up. The file stays: removing it would let two
// processes lock two files of the same name.
//
// Closing alone would not do: a process that is being started has a copy of
// every descriptor for a moment, and the lock lasts as long as the last one.
func (l *fileLock) release() error {
	return errors.Join(syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN), l.file.Close())
}
