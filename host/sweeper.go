package host

import (
	"context"
	"sync"
	"time"
)

// sweepEvery is how often expired claims and tombstones are removed.
const sweepEvery = time.Minute

// sweeper runs a function now and every so often in a goroutine of its own. Its
// methods may be called concurrently, and stop before start.
type sweeper struct {
	mu   sync.Mutex
	over bool               // start does nothing any more
	end  context.CancelFunc // nil while nothing runs
	runs sync.WaitGroup
}

func (s *sweeper) start(sweep func(context.Context)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	ctx, end := context.WithCancel(context.Background())
	s.end = end
	s.runs.Go(func() {
		tick := time.NewTicker(sweepEvery)
		defer tick.Stop()
		for {
			sweep(ctx)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

// stop ends the goroutine, if there is one, and waits for it.
func (s *sweeper) stop() {
	s.mu.Lock()
	s.over = true
	if s.end != nil {
		s.end()
	}
	s.mu.Unlock()
	s.runs.Wait()
}
