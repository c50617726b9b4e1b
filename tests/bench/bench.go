package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// options say how much is measured.
type options struct {
	dir      string
	only     string
	profiles string
	lap      time.Duration
	rounds   int
	sessions int // only loads of so many; 0 for all
	scale    int // divides the large numbers; 1 but in tests
}

// bench is one run over all scenarios.
type bench struct {
	options
	table    table
	progress io.Writer
	files    int
	empty    int64 // the size of a database without sessions
}

// run measures every scenario that o selects.
func run(ctx context.Context, o options, progress io.Writer) (_ table, err error) {
	dir, err := os.MkdirTemp(o.dir, "agenthost-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	o.dir = dir
	b := &bench{options: o, progress: progress}
	if err := b.weighEmpty(ctx); err != nil {
		return nil, err
	}
	for _, scenario := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"turns", b.turns},
		{"http", b.calls},
		{"first", b.firstFrames},
		{"fan", b.fanOut},
		{"history", b.history},
		{"memory", b.memory},
		{"large", b.large},
		{"delete", b.deletes},
		{"clear", b.clears},
		{"modelcall", b.modelCalls},
		{"toolcall", b.toolCalls},
	} {
		if !strings.HasPrefix(scenario.name, o.only) {
			continue
		}
		if err := scenario.run(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", scenario.name, err)
		}
	}
	return b.table, nil
}

// weighEmpty measures what is on disk before the first session.
func (b *bench) weighEmpty(ctx context.Context) error {
	file := b.newFile()
	f, err := openFloor(ctx, file)
	if err != nil {
		return err
	}
	err = f.close()
	b.empty = sizeOf(file)
	return err
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.progress, format+"\n", args...) }

// newFile names a database that does not exist yet.
func (b *bench) newFile() string {
	b.files++
	return filepath.Join(b.dir, fmt.Sprintf("%d.db", b.files))
}

// loads are the numbers of sessions to measure with.
func (b *bench) loads(all ...int) []int {
	if b.sessions > 0 {
		return []int{b.sessions}
	}
	return all
}

// workers is how many sessions make a load, fewer in tests.
func (b *bench) workers(load int) int {
	if b.scale > 1 {
		return min(load, 8)
	}
	return load
}

// scaled is a large number, smaller in tests.
func (b *bench) scaled(n int) int { return max(n/b.scale, 4) }
