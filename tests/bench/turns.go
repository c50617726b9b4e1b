package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
)

// turns measures durable turns in process: the whole host against the driver.
func (b *bench) turns(ctx context.Context) error {
	for _, workers := range b.loads(1, 8, 64, 256) {
		var floors, hosts []lap
		for range b.rounds {
			f, err := b.floorLap(ctx, b.workers(workers))
			if err != nil {
				return err
			}
			h, err := b.hostLap(ctx, b.workers(workers))
			if err != nil {
				return err
			}
			floors, hosts = append(floors, f), append(hosts, h)
			b.say("in process, %d sessions: floor %.0f, host %.0f turns/s", workers, f.perSecond(), h.perSecond())
		}
		b.addLaps("in process", workers, floors, hosts)
		if workers == 64 {
			b.addDisk(workers, floors, hosts)
		}
	}
	return nil
}

// addLaps adds the rows of one load.
func (b *bench) addLaps(where string, workers int, floors, hosts []lap) {
	load := plural(workers, "session")
	goals := [4]string{}
	if workers == 64 {
		goals = [4]string{"≥ 0.7", "", "≤ 2", "≤ 2"}
	}
	for i, m := range []struct {
		what, unit string
		of         func(lap) float64
	}{
		{"durable turns", "1/s", lap.perSecond},
		{"turn p50", "ms", func(l lap) float64 { return l.quantile(0.5) }},
		{"turn p99", "ms", func(l lap) float64 { return l.quantile(0.99) }},
		{"CPU a turn", "ms", lap.cpuPerTurn},
	} {
		b.table.add(row{m.what + ", " + where, load, m.unit, each(floors, m.of), each(hosts, m.of), goals[i]})
	}
}

func (b *bench) addDisk(workers int, floors, hosts []lap) {
	written := func(l lap) float64 { return float64(l.written) / float64(l.turns) / 1024 }
	grown := func(l lap) float64 { return float64(l.grown) / float64(l.turns+warmTurns*b.workers(workers)) / 1024 }
	load := plural(workers, "session")
	b.table.add(row{"written a turn", load, "KiB", each(floors, written), each(hosts, written), ""})
	b.table.add(row{"kept on disk a turn", load, "KiB", each(floors, grown), each(hosts, grown), ""})
}

func each(laps []lap, of func(lap) float64) []float64 {
	values := make([]float64, len(laps))
	for i, l := range laps {
		values[i] = of(l)
	}
	return values
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (b *bench) floorLap(ctx context.Context, workers int) (lap, error) {
	file := b.newFile()
	f, err := openFloor(ctx, file)
	if err != nil {
		return lap{}, err
	}
	all, err := createFloorSessions(f, workers)
	if err != nil {
		return lap{}, err
	}
	runtime.GC() // neither side pays for the other's garbage
	l, err := drive(ctx, workers, b.lap, ownUsage, floorTurns(all))
	if err != nil {
		return l, err
	}
	if err := f.close(); err != nil {
		return l, err
	}
	l.grown = sizeOf(file) - b.empty
	return l, os.Remove(file)
}

func (b *bench) hostLap(ctx context.Context, workers int) (lap, error) {
	file := b.newFile()
	h, _, err := openHost(ctx, file)
	if err != nil {
		return lap{}, err
	}
	defer h.Stop()
	if err := createHostSessions(ctx, h, workers); err != nil {
		return lap{}, err
	}
	runtime.GC()
	stop, err := b.profile(workers)
	if err != nil {
		return lap{}, err
	}
	l, err := drive(ctx, workers, b.lap, ownUsage, hostTurns(h))
	if err := stop(); err != nil {
		return l, err
	}
	if err != nil {
		return l, err
	}
	h.Stop()
	l.grown = sizeOf(file) - b.empty
	return l, os.Remove(file)
}

// profile takes a CPU profile of the host at 64 sessions, if one is asked for.
func (b *bench) profile(workers int) (stop func() error, err error) {
	if b.profiles == "" || workers != 64 {
		return func() error { return nil }, nil
	}
	return b.profileAs("host-in-process")
}

// profileAs takes a CPU profile under a name, if profiles are asked for.
func (b *bench) profileAs(name string) (stop func() error, err error) {
	if b.profiles == "" {
		return func() error { return nil }, nil
	}
	return startProfile(filepath.Join(b.profiles, name))
}

// writeAllocations writes what was allocated since the start of the process.
func writeAllocations(name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("allocs").WriteTo(file, 0), file.Close())
}

// startProfile records until stop is called, into files that begin with name.
func startProfile(name string) (stop func() error, err error) {
	file, err := os.Create(name + ".cpu.pprof")
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, err
	}
	return func() error {
		pprof.StopCPUProfile()
		return errors.Join(file.Close(), writeAllocations(name+".allocs.pprof"))
	}, nil
}
