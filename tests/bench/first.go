package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"
	"time"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/sessions"
)

// firstFrames measures how soon a prompt is durable and seen to be: the accept
// and the first frame against the accept's transaction on the bare driver.
func (b *bench) firstFrames(ctx context.Context) error {
	for _, workers := range b.loads(1, 64) {
		var commits, accepts, frames []lap
		for range b.rounds {
			c, err := b.timed(ctx, b.workers(workers), b.floorAccepts)
			if err != nil {
				return err
			}
			a, err := b.timed(ctx, b.workers(workers), hostAccepts)
			if err != nil {
				return err
			}
			f, err := b.timed(ctx, b.workers(workers), hostFirstFrames)
			if err != nil {
				return err
			}
			commits, accepts, frames = append(commits, c), append(accepts, a), append(frames, f)
		}
		b.addFirst("accept", workers, commits, accepts, "")
		b.addFirst("first frame", workers, commits, frames, "≤ 1.5")
		b.say("first frame, %d sessions: commit %.2f, frame %.2f ms", workers, commits[0].quantile(0.5), frames[0].quantile(0.5))
	}
	return b.firstEvents(ctx)
}

func (b *bench) addFirst(what string, workers int, floors, hosts []lap, goal string) {
	load := plural(workers, "session")
	p50 := func(l lap) float64 { return l.quantile(0.5) }
	p99 := func(l lap) float64 { return l.quantile(0.99) }
	b.table.add(row{what + " p50, durable", load, "ms", each(floors, p50), each(hosts, p50), goal})
	b.table.add(row{what + " p99, durable", load, "ms", each(floors, p99), each(hosts, p99), ""})
}

// partFunc makes one turn and returns how long a part of it took.
type partFunc func(ctx context.Context, worker, n int) (time.Duration, error)

// timed loads a side and keeps only the times of the part.
func (b *bench) timed(ctx context.Context, workers int, side func(context.Context, string, int) (partFunc, func() error, error)) (lap, error) {
	part, end, err := side(ctx, b.newFile(), workers)
	if err != nil {
		return lap{}, err
	}
	l, err := b.driveParts(ctx, workers, part)
	return l, errors.Join(err, end())
}

func (b *bench) driveParts(ctx context.Context, workers int, part partFunc) (lap, error) {
	var mu sync.Mutex
	var parts []time.Duration
	l, err := drive(ctx, workers, b.lap, ownUsage, func(ctx context.Context, worker, n int) error {
		took, err := part(ctx, worker, n)
		if n >= warmTurns {
			mu.Lock()
			defer mu.Unlock()
			parts = append(parts, took)
		}
		return err
	})
	slices.Sort(parts)
	l.latencies = parts
	return l, err
}

func (b *bench) floorAccepts(ctx context.Context, file string, workers int) (partFunc, func() error, error) {
	f, err := openFloor(ctx, file)
	if err != nil {
		return nil, nil, err
	}
	all, err := createFloorSessions(f, workers)
	if err != nil {
		return nil, nil, errors.Join(err, f.close())
	}
	return func(_ context.Context, worker, n int) (time.Duration, error) {
		fingerprint := sha256.Sum256([]byte(promptText))
		start := time.Now()
		t, err := all[worker].accept(requestID(worker, n), promptText, fingerprint[:])
		if err != nil {
			return 0, err
		}
		took := time.Since(start)
		return took, t.end(answerText)
	}, f.close, nil
}

// hostAccepts waits for the accept, and then for the end under the same request id.
func hostAccepts(ctx context.Context, file string, workers int) (partFunc, func() error, error) {
	h, end, err := hostForParts(ctx, file, workers)
	return func(ctx context.Context, worker, n int) (time.Duration, error) {
		args := promptOf(worker, n)
		args.Wait = api.WaitAccepted
		start := time.Now()
		if _, err := h.Prompt(ctx, args, nil); err != nil {
			return 0, err
		}
		took := time.Since(start)
		_, err := h.Prompt(ctx, promptOf(worker, n), nil)
		return took, err
	}, end, err
}

func hostFirstFrames(ctx context.Context, file string, workers int) (partFunc, func() error, error) {
	h, end, err := hostForParts(ctx, file, workers)
	return func(ctx context.Context, worker, n int) (took time.Duration, err error) {
		start := time.Now()
		_, err = h.Prompt(ctx, promptOf(worker, n), func(sessions.Frame) error {
			if took == 0 {
				took = time.Since(start)
			}
			return nil
		})
		return took, err
	}, end, err
}

func hostForParts(ctx context.Context, file string, workers int) (*host.Host, func() error, error) {
	h, _, err := openHost(ctx, file)
	if err != nil {
		return nil, nil, err
	}
	end := func() error {
		h.Stop()
		return nil
	}
	return h, end, createHostSessions(ctx, h, workers)
}

// firstEvents measures the first frame as a client of the event stream sees it.
func (b *bench) firstEvents(ctx context.Context) error {
	var floors, hosts []lap
	for range b.rounds {
		f, err := b.eventLap(ctx, "floor")
		if err != nil {
			return err
		}
		h, err := b.eventLap(ctx, "host")
		if err != nil {
			return err
		}
		floors, hosts = append(floors, f), append(hosts, h)
	}
	b.addFirst("first event over HTTP", 1, floors, hosts, "≤ 1.5")
	return nil
}

func (b *bench) eventLap(ctx context.Context, side string) (l lap, err error) {
	c, err := startChild(ctx, side, childSettings{File: b.newFile()})
	if err != nil {
		return lap{}, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	connections, err := dialAll(ctx, c.first.Address, 1)
	if err != nil {
		return lap{}, err
	}
	defer func() { err = errors.Join(err, closeAll(connections)) }()
	return b.driveParts(ctx, 1, func(_ context.Context, worker, n int) (time.Duration, error) {
		return connections[worker].firstEvent(worker, n)
	})
}
