package memory

import "sync"

// turnstile is a lock that is given in the order in which it was asked for, so
// that of two calls the one that came first is done first.
type turnstile struct {
	mu    sync.Mutex
	held  bool
	queue []chan struct{} // closed when the lock is theirs
}

func (l *turnstile) lock() {
	l.mu.Lock()
	if !l.held {
		l.held = true
		l.mu.Unlock()
		return
	}
	mine := make(chan struct{})
	l.queue = append(l.queue, mine)
	l.mu.Unlock()
	<-mine
}

func (l *turnstile) unlock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.held = false
		return
	}
	close(l.queue[0])
	l.queue = l.queue[1:]
}
