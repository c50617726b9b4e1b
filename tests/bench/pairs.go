package main

import (
	"slices"
	"time"
)

// pairs are times of the same work done twice in turn: with as little as can be,
// and through the host.
type pairs struct {
	floors, hosts []time.Duration
}

// warmPairs is how many pairs are made before any counts.
const warmPairs = 10

// add makes the n-th pair and keeps its times, unless they only warm up. Neither
// side is always the one that comes after the other.
func (p *pairs) add(n int, floor, host func() error) error {
	first, second := floor, host
	if n%2 == 1 {
		first, second = host, floor
	}
	one, err := timed(first)
	if err != nil {
		return err
	}
	other, err := timed(second)
	if err != nil {
		return err
	}
	if n%2 == 1 {
		one, other = other, one
	}
	if n >= warmPairs {
		p.floors, p.hosts = append(p.floors, one), append(p.hosts, other)
	}
	return nil
}

// apart are the differences, pair by pair.
func (p *pairs) apart() []time.Duration {
	all := make([]time.Duration, len(p.hosts))
	for i := range all {
		all[i] = p.hosts[i] - p.floors[i]
	}
	return all
}

// addPairs adds the rows of some rounds: both times, and what the host's has
// beyond the floor's.
func (b *bench) addPairs(what string, kind storeKind, rounds []pairs) {
	for _, q := range []struct {
		name string
		part float64
	}{{"p50", 0.5}, {"p99", 0.99}} {
		var floors, hosts, apart []float64
		for _, p := range rounds {
			floors = append(floors, microseconds(p.floors, q.part))
			hosts = append(hosts, microseconds(p.hosts, q.part))
			apart = append(apart, microseconds(p.apart(), q.part))
		}
		b.say("%s, %s, %s: floor %.1f, host %.1f µs", what, kind, q.name, median(floors), median(hosts))
		b.table.add(row{what + " " + q.name, string(kind), "µs", floors, hosts, ""})
		b.table.add(row{"host's part of a " + what + " " + q.name, string(kind), "µs", nil, apart, ""})
	}
}

// microseconds is a quantile of times in any order.
func microseconds(times []time.Duration, part float64) float64 {
	return quantile(slices.Sorted(slices.Values(times)), part).Seconds() * 1e6
}

// timed is how long f takes.
func timed(f func() error) (time.Duration, error) {
	start := time.Now()
	err := f()
	return time.Since(start), err
}
