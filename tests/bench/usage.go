package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// usage is what a process has used since its start.
type usage struct {
	cpu     time.Duration // user and system
	written int64         // bytes given to write calls; 0 where the system does not count
	rss     int64         // bytes in memory now; 0 where the system does not tell
}

// ownUsage reads the usage of this process.
func ownUsage() (usage, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return usage{}, err
	}
	return usage{
		cpu:     time.Duration(r.Utime.Nano() + r.Stime.Nano()),
		written: procNumber("/proc/self/io", "wchar:"),
		rss:     procNumber("/proc/self/status", "VmRSS:") << 10,
	}, nil
}

// procNumber returns the number behind a name in one of the system's files, 0
// when there is none.
func procNumber(file, name string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			var n int64
			if _, err := fmt.Sscan(rest, &n); err == nil {
				return n
			}
		}
	}
	return 0
}
