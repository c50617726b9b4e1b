package sqlite

import "sync"

// Stop is a place in the line of writes at which the writer stands still until
// it is let go. Tests force an order of concurrent commands with it.
type Stop struct {
	reached, gate chan struct{}
	once          sync.Once
	job           *job
}

// Hold puts a stop at the end of the line of writes. Each stop must be let go.
func (s *Store) Hold() *Stop {
	h := &Stop{reached: make(chan struct{}), gate: make(chan struct{})}
	h.job = soloJob(new(bool), func(*link) (bool, error) {
		close(h.reached)
		<-h.gate
		return true, nil
	})
	if err := s.writer.enqueue(h.job, true); err != nil { // closed: there is no line
		close(h.reached)
		h.job.done <- err
	}
	return h
}

// Waiting returns how many writes stand in the line, stops included.
func (s *Store) Waiting() int { return len(s.writer.queue) }

// Reached returns when the writer stands at the stop: all that was in the line
// before it is durable, or refused.
func (h *Stop) Reached() { <-h.reached }

// Go lets the writer go on.
func (h *Stop) Go() {
	h.once.Do(func() {
		close(h.gate)
		_ = <-h.job.done // a stop has nothing to tell
	})
}
