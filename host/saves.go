package host

import (
	"context"
	"sync"

	"agenthost/sessions"
)

// saves lets unconditional saves of one value that come while one is being
// written wait and be stored as one: the latest. An older save never lands over
// a newer one, and every caller hears of the commit that holds its value or a
// newer one.
type saves struct {
	set func(context.Context, sessions.SetState) (int64, error)

	mu      sync.Mutex
	writing map[savedValue]*save // the save to come after the one being written; nil if none
}

// savedValue names what saves are coalesced by.
type savedValue struct {
	owner sessions.Owner
	at    sessions.Address
	name  string
}

// save is one write and all who wait for it.
type save struct {
	command sessions.SetState
	done    chan struct{}
	version int64
	err     error
}

func newSaves(set func(context.Context, sessions.SetState) (int64, error)) *saves {
	return &saves{set: set, writing: map[savedValue]*save{}}
}

// save stores a value and returns its version. When ctx ends first it returns
// ErrOutcomeUnknown, as the store does; the value may still be stored.
func (s *saves) save(ctx context.Context, c sessions.SetState) (int64, error) {
	mine := s.join(savedValue{c.Owner, c.At, c.Name}, c)
	select {
	case <-mine.done:
		return mine.version, mine.err
	case <-ctx.Done():
		return 0, sessions.ErrOutcomeUnknown.Because(context.Cause(ctx))
	}
}

// join makes c the next save of its value, alone or in place of one that waits.
func (s *saves) join(of savedValue, c sessions.SetState) *save {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting, busy := s.writing[of]
	if waiting != nil {
		waiting.command = c
		return waiting
	}
	mine := &save{command: c, done: make(chan struct{})}
	if busy {
		s.writing[of] = mine
		return mine
	}
	s.writing[of] = nil
	go s.write(of, mine)
	return mine
}

// write stores a save, then the one that has come meanwhile, until none has.
// The store bounds how long that takes, so nobody needs to wait for it to end.
func (s *saves) write(of savedValue, next *save) {
	for next != nil {
		s.mu.Lock()
		c := next.command
		s.mu.Unlock()
		next.version, next.err = s.set(context.Background(), c)
		close(next.done)
		s.mu.Lock()
		if next = s.writing[of]; next != nil {
			s.writing[of] = nil
		} else {
			delete(s.writing, of)
		}
		s.mu.Unlock()
	}
}
