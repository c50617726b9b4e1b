package sqlite

import (
	"context"
	"errors"
	"syscall"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"agenthost/sessions"
)

var (
	errOverload = sessions.Errorf(sessions.CodeOverloaded, "Too many writes are waiting for the store; try again after a pause.")
	errDamaged  = sessions.Errorf(sessions.CodeSessionDamaged, "A stored body of the session fails its checksum; delete the session to go on.")
)

// unavailable returns STORE_UNAVAILABLE with a cause for the log.
func unavailable(message string, cause error) *sessions.Error {
	return sessions.Errorf(sessions.CodeStoreUnavailable, "%s", message).Because(cause)
}

// causes gives the sentence for each primary result code that has a cause
// outside the program.
var causes = map[int]string{
	lib.SQLITE_FULL:     "The store's disk is full; free space and try again.",
	lib.SQLITE_BUSY:     "The store is locked by another process; try again after a pause.",
	lib.SQLITE_LOCKED:   "The store is locked by another process; try again after a pause.",
	lib.SQLITE_READONLY: "The store cannot be written; check the file's permissions.",
	lib.SQLITE_IOERR:    "The store's disk failed; look at the host's log.",
	lib.SQLITE_CORRUPT:  "The store's file is damaged; restore a backup.",
	lib.SQLITE_NOTADB:   "The store's file is no database; choose another file.",
	lib.SQLITE_CANTOPEN: "The store's file cannot be opened; check its path and permissions.",
	lib.SQLITE_PERM:     "The store's file may not be accessed; check its permissions.",
}

// fileCauses gives the result code that means the same for what a file of frames
// may meet.
var fileCauses = map[syscall.Errno]int{
	syscall.ENOSPC: lib.SQLITE_FULL,
	syscall.EDQUOT: lib.SQLITE_FULL,
	syscall.EROFS:  lib.SQLITE_READONLY,
	syscall.EACCES: lib.SQLITE_PERM,
	syscall.EPERM:  lib.SQLITE_PERM,
	syscall.EIO:    lib.SQLITE_IOERR,
}

// errnoOf returns the system's error in err, 0 if there is none.
func errnoOf(err error) syscall.Errno {
	number, _ := errors.AsType[syscall.Errno](err)
	return number
}

// translate turns whatever a store method met into an *Error: one with a code
// stays as it is, a driver's becomes STORE_UNAVAILABLE with it as the cause.
func translate(err error) error {
	if err == nil {
		return nil
	}
	if coded, ok := errors.AsType[*sessions.Error](err); ok {
		return coded
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return sessions.ErrReadGivenUp.Because(err)
	}
	message := "The store could not do this; look at the host's log."
	if primary, ok := fileCauses[errnoOf(err)]; ok {
		message = causes[primary]
	}
	if raw, ok := errors.AsType[*driver.Error](err); ok {
		if known, ok := causes[raw.Code()&0xff]; ok {
			message = known
		}
	}
	return unavailable(message, err)
}
