package actors

import (
	"context"
	"sync"

	"agenthost/sessions"
)

// beside is the work of tools that goes on beside the turns of one session. Its
// agent stays in memory for it, but waits for none of it. It is safe for
// concurrent use.
type beside struct {
	mu      sync.Mutex
	started uint64
	ends    map[uint64]context.CancelCauseFunc // of what is under way
}

// start runs f until it returns; its context ends with stop.
func (b *beside) start(d *deps, of sessions.SessionID, f func(ctx context.Context)) {
	ctx, cancel := context.WithCancelCause(d.lifetime)
	leave := b.enter(cancel)
	d.background(func(context.Context) {
		ended := false
		defer func() {
			leave()
			cancel(nil)
			if fault := recover(); fault != nil || !ended {
				d.logPanic("work beside a turn panicked", fault, "session", of)
			}
		}()
		f(ctx)
		ended = true
	})
}

func (b *beside) enter(cancel context.CancelCauseFunc) (leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ends == nil {
		b.ends = map[uint64]context.CancelCauseFunc{}
	}
	b.started++
	id := b.started
	b.ends[id] = cancel
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.ends, id)
	}
}

// stop ends the context of everything under way.
func (b *beside) stop(why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, cancel := range b.ends {
		cancel(why)
	}
}

// going reports whether anything is under way.
func (b *beside) going() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.ends) > 0
}
