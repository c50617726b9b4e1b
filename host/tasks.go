package host

import (
	"context"
	"sync"
	"time"
)

// tasks are goroutines that run as long as the host. Its methods may be called
// concurrently, and stop before start.
type tasks struct {
	mu   sync.Mutex
	over bool                 // start does nothing any more
	ends []context.CancelFunc // of those that run
	runs sync.WaitGroup
}

// start runs f in a goroutine until stop ends its context.
func (t *tasks) start(f func(context.Context)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	ctx, end := context.WithCancel(context.Background())
	t.ends = append(t.ends, end)
	t.runs.Go(func() { f(ctx) })
}

// stop ends every task and waits for it.
func (t *tasks) stop() {
	t.mu.Lock()
	t.over = true
	for _, end := range t.ends {
		end()
	}
	t.mu.Unlock()
	t.runs.Wait()
}

// pause waits for d and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
