package sqlite

import "sync"

// Stop is a place in the line of writes at which the writer stands still until
// it is let go. Tests force an order of concurrent commands with it.
type Stop struct {
	reached, gate, over chan struct{}
	once                sync.Once
}

// Hold puts a stop at the end of the line of writes. Each stop must be let go.
func (s *Store) Hold() *Stop {
	h := &Stop{reached: make(chan struct{}), gate: make(chan struct{}), over: make(chan struct{})}
	err := s.writer.enqueue(soloJob(new(bool), func(*link) (bool, error) {
		defer close(h.over)
		close(h.reached)
		<-h.gate
		return true, nil
	}), true)
	if err != nil { // closed: there is no line
		close(h.reached)
		close(h.over)
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
		<-h.over
	})
}
