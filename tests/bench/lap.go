package main

import (
	"context"
	"slices"
	"sync"
	"time"
)

// lap is what one stretch of load came to.
type lap struct {
	turns     int
	elapsed   time.Duration
	latencies []time.Duration // sorted
	cpu       time.Duration   // of the process that was measured
	written   int64           // bytes it gave to write calls
	grown     int64           // bytes the database file grew by, log included
}

func (l lap) perSecond() float64 { return float64(l.turns) / l.elapsed.Seconds() }

func (l lap) quantile(q float64) float64 { return quantile(l.latencies, q).Seconds() * 1000 }

func (l lap) cpuPerTurn() float64 { return l.cpu.Seconds() * 1000 / float64(l.turns) }

// quantile returns the value below which the part q of sorted values lies.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// turnFunc makes one turn of a worker's own session. n counts its turns.
type turnFunc func(ctx context.Context, worker, n int) error

// warmTurns is how many turns each session makes before the clock starts: the
// host's are in memory by then, as those of a host at work are.
const warmTurns = 2

// drive lets workers make turns one after the other for a while. Each worker
// makes at least one.
func drive(ctx context.Context, workers int, during time.Duration, meter func() (usage, error), turn turnFunc) (lap, error) {
	if err := together(workers, func(w int) error { return repeat(ctx, w, warmTurns, turn) }); err != nil {
		return lap{}, err
	}
	began := time.Now()
	return driveWhile(ctx, workers, func() bool { return time.Since(began) < during }, meter, turn)
}

// driveWhile is drive for sessions that are warm, as long as goOn says.
func driveWhile(ctx context.Context, workers int, goOn func() bool, meter func() (usage, error), turn turnFunc) (lap, error) {
	before, err := meter()
	if err != nil {
		return lap{}, err
	}
	var mu sync.Mutex
	var l lap
	began := time.Now()
	err = together(workers, func(w int) error {
		var own []time.Duration
		for n := warmTurns; len(own) == 0 || goOn(); n++ {
			start := time.Now()
			if err := turn(ctx, w, n); err != nil {
				return err
			}
			own = append(own, time.Since(start))
		}
		mu.Lock()
		defer mu.Unlock()
		l.latencies = append(l.latencies, own...)
		return nil
	})
	if err != nil {
		return lap{}, err
	}
	l.elapsed, l.turns = time.Since(began), len(l.latencies)
	after, err := meter()
	l.cpu, l.written = after.cpu-before.cpu, after.written-before.written
	slices.Sort(l.latencies)
	return l, err
}

// repeat makes the first turns of one worker.
func repeat(ctx context.Context, worker, count int, turn turnFunc) error {
	for n := range count {
		if err := turn(ctx, worker, n); err != nil {
			return err
		}
	}
	return nil
}

// together runs f once for each worker at the same time and returns an error of one.
func together(workers int, f func(worker int) error) error {
	errs := make(chan error, workers)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			if err := f(w); err != nil {
				errs <- err
			}
		})
	}
	group.Wait()
	close(errs)
	return <-errs
}

// sampled times f count times, in order.
func sampled(count int, f func(n int) error) ([]time.Duration, error) {
	all := make([]time.Duration, 0, count)
	for n := range count {
		start := time.Now()
		if err := f(n); err != nil {
			return nil, err
		}
		all = append(all, time.Since(start))
	}
	slices.Sort(all)
	return all, nil
}
