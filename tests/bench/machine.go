package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// machineFacts says on what the table was measured, without naming the machine.
func machineFacts(ctx context.Context, dir string) (string, error) {
	version, err := engineVersion(ctx)
	if err != nil {
		return "", err
	}
	synced, err := syncTime(dir)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s. %s, %s/%s, %d CPUs%s; SQLite %s; a write of 4 KiB with fsync takes %.2f ms (median of 200).",
		time.Now().UTC().Format(time.DateOnly), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), processor(), version,
		milliseconds(synced)), nil
}

func engineVersion(ctx context.Context) (version string, err error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return "", err
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version)
	return version, err
}

// processor names the kind of CPU where the system tells it.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return " (" + strings.TrimSpace(value) + ")"
		}
	}
	return ""
}

// syncTime measures the disk that the databases were on.
func syncTime(dir string) (_ []time.Duration, err error) {
	file, err := os.CreateTemp(dir, "agenthost-sync-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	page := make([]byte, 4096)
	return sampled(200, func(int) error {
		if _, err := file.Write(page); err != nil {
			return err
		}
		return file.Sync()
	})
}
