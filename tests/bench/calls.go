package main

import (
	"context"
	"errors"
	"path/filepath"
)

// calls measures durable turns over HTTP, each server in a process of its own:
// the host's POST /v1/call against the bare server on the bare driver.
func (b *bench) calls(ctx context.Context) error {
	var resident []float64
	for _, workers := range b.loads(1, 8, 64) {
		var floors, hosts []lap
		for range b.rounds {
			f, _, err := b.callLap(ctx, "floor", b.workers(workers))
			if err != nil {
				return err
			}
			h, started, err := b.callLap(ctx, "host", b.workers(workers))
			if err != nil {
				return err
			}
			floors, hosts, resident = append(floors, f), append(hosts, h), append(resident, float64(started)/(1<<20))
			b.say("HTTP, %d sessions: floor %.0f, host %.0f turns/s", workers, f.perSecond(), h.perSecond())
		}
		b.addLaps("HTTP", workers, floors, hosts)
	}
	b.table.add(row{"memory at start (RSS)", "", "MiB", nil, resident, "≤ 25"})
	return nil
}

// callLap loads one server, and returns its memory at start too.
func (b *bench) callLap(ctx context.Context, side string, workers int) (l lap, started int64, err error) {
	settings := childSettings{File: b.newFile()}
	if side == "host" && workers == 64 && b.profiles != "" {
		settings.Profile = filepath.Join(b.profiles, "host-http")
	}
	c, err := startChild(ctx, side, settings)
	if err != nil {
		return lap{}, 0, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	connections, err := dialAll(ctx, c.first.Address, workers)
	if err != nil {
		return lap{}, 0, err
	}
	defer func() { err = errors.Join(err, closeAll(connections)) }()
	l, err = drive(ctx, workers, b.lap, c.usage, func(_ context.Context, worker, n int) error {
		return connections[worker].call(worker, n)
	})
	return l, c.first.RSS, err
}
