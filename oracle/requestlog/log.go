package requestlog

import (
	"context"
	"slices"
	"sync"
)

// Log holds requests of type R in the order of their arrival. The zero value is
// empty; a Log is safe for concurrent use.
type Log[R any] struct {
	mu       sync.Mutex
	requests []R
	arrived  chan struct{} // closed at the next arrival; nil while nobody waits
}

// Add appends r and returns how many came before it.
func (l *Log[R]) Add(r R) (before int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests = append(l.requests, r)
	if l.arrived != nil {
		close(l.arrived)
		l.arrived = nil
	}
	return len(l.requests) - 1
}

// Requests returns the requests so far.
func (l *Log[R]) Requests() []R {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.requests)
}

// Await waits until there were at least n requests, or returns ctx's error.
func (l *Log[R]) Await(ctx context.Context, n int) error {
	for {
		arrived := l.next(n)
		if arrived == nil {
			return nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// next returns what closes at the next arrival, nil if there are n already.
func (l *Log[R]) next(n int) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.requests) >= n {
		return nil
	}
	if l.arrived == nil {
		l.arrived = make(chan struct{})
	}
	return l.arrived
}
