package feed

import (
	"context"
	"fmt"
	"sync"

	"agenthost/sessions"
)

// Reason says why a subscription ended.
type Reason string

// The reasons.
const (
	Slow     Reason = "slow"     // the reader fell a whole buffer behind
	Deleted  Reason = "deleted"  // the session was deleted
	Closed   Reason = "closed"   // the session was closed
	Stopping Reason = "stopping" // the host stops
)

// EndError is what Next returns once a subscription has ended. Cursor is the
// position after the last frame that Next returned.
type EndError struct {
	Reason Reason
	Cursor sessions.Cursor
}

// Error formats the reason.
func (e *EndError) Error() string { return fmt.Sprintf("the subscription ended: %s", e.Reason) }

// wholeOwner stands for the life of a subscription that follows an owner.
const wholeOwner sessions.Incarnation = -1

const (
	bufferFrames = 1024 // frames a reader may be behind what is published
	pageFrames   = 256  // frames read from the store at a time
)

// Subscription is one reader's position in the frames of one life, or in the
// changes of an owner's sessions. Next, Cursor and Close are its reader's, one
// goroutine at a time.
type Subscription struct {
	feed      *Feed
	endIfSlow bool
	wake      chan struct{} // cap 1: something changed

	mu       sync.Mutex
	life     sessions.Incarnation // 0 until attached
	owner    sessions.Owner       // of a subscription to a whole owner
	turn     sessions.TurnID      // whose frames are wanted, "" for all; set when attached
	buffer   []sessions.Frame
	overflow bool
	reason   Reason // "" while it goes on

	// Only the reader touches these.
	last int64            // seq of the last numbered frame returned
	page []sessions.Frame // read from the store, not yet returned
	more bool             // the store may have more after page
}

func newSubscription(f *Feed, endIfSlow bool) *Subscription {
	return &Subscription{feed: f, endIfSlow: endIfSlow, wake: make(chan struct{}, 1)}
}

// attach happens before s is published to, and before or while its reader
// waits: the wake-up orders last and more after it.
func (s *Subscription) attach(life sessions.Incarnation, turn sessions.TurnID, seq int64, catchUp bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life != 0 || s.reason != "" {
		return false
	}
	s.life, s.turn, s.last, s.more = life, turn, seq, catchUp
	s.signal()
	return true
}

func (s *Subscription) offer(frames []sessions.Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason != "" {
		return
	}
	if len(s.buffer)+len(frames) > bufferFrames {
		if s.endIfSlow {
			s.reason = Slow
		}
		s.buffer, s.overflow = nil, true
	} else {
		s.buffer = append(s.buffer, frames...)
	}
	s.signal()
}

func (s *Subscription) finish(reason Reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason == "" {
		s.reason = reason
	}
	s.signal()
}

// signal wakes the reader; s.mu is held.
func (s *Subscription) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Next returns the next frame, waiting for it if need be. When the subscription
// has ended it returns *EndError, when ctx ends its error, and a store's error
// as it is; after a store's error Next may be tried again.
func (s *Subscription) Next(ctx context.Context) (sessions.Frame, error) {
	for {
		frame, ok, err := s.step(ctx)
		if ok || err != nil {
			return frame, err
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return sessions.Frame{}, ctx.Err()
		}
	}
}

// step returns a frame that is at hand, in the page or the buffer, or reads one.
func (s *Subscription) step(ctx context.Context) (sessions.Frame, bool, error) {
	for {
		if len(s.page) > 0 {
			frame := s.page[0]
			s.page = s.page[1:]
			s.pass(frame)
			if s.wants(frame) {
				return frame, true, nil
			}
			continue
		}
		frame, state := s.take()
		switch state {
		case taken:
			if s.wants(frame) {
				return frame, true, nil
			}
			continue
		case empty:
			return frame, false, nil
		case over:
			return frame, false, &EndError{Reason: s.end(), Cursor: s.Cursor()}
		}
		if err := s.read(ctx); err != nil {
			if s.end() == Stopping { // with the host's store
				return frame, false, &EndError{Reason: Stopping, Cursor: s.Cursor()}
			}
			return frame, false, err
		}
	}
}

// wants reports whether the reader is to get a frame. A frame is at hand only
// once the subscription is attached.
func (s *Subscription) wants(frame sessions.Frame) bool {
	return s.turn == "" || frame.TurnID == "" || frame.TurnID == s.turn
}

type takeState int

const (
	empty takeState = iota // nothing now
	taken                  // a frame
	hole                   // the store must be read first
	over                   // ended, and nothing is left
)

// take removes the next frame of the buffer if it follows the last one.
func (s *Subscription) take() (sessions.Frame, takeState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life == 0 {
		if s.reason != "" {
			return sessions.Frame{}, over
		}
		return sessions.Frame{}, empty
	}
	if s.overflow && !s.endIfSlow {
		s.overflow, s.more = false, true
	}
	if s.more && s.reason != Deleted && s.reason != Slow {
		return sessions.Frame{}, hole
	}
	for len(s.buffer) > 0 {
		frame := s.buffer[0]
		if frame.Seq > s.last+1 {
			return frame, hole
		}
		s.buffer = s.buffer[1:]
		if frame.Seq == 0 || frame.Seq == s.last+1 {
			if frame.Seq > 0 {
				s.last = frame.Seq
			}
			return frame, taken
		}
	}
	if s.reason != "" {
		return sessions.Frame{}, over
	}
	s.buffer = nil
	return sessions.Frame{}, empty
}

// read fetches the next page of kept frames after the last one returned.
func (s *Subscription) read(ctx context.Context) error {
	page, err := s.feed.reader.Frames(ctx, s.life, sessions.FrameQuery{AfterSeq: s.last, Limit: pageFrames})
	if err != nil {
		if sessions.CodeOf(err) == sessions.CodeSessionNotFound {
			s.finish(Deleted)
			s.more = false
			return nil
		}
		return err
	}
	// Frames are published after their commit, so a page that begins after a
	// frame was published reaches to it, or tells that it is missing.
	s.page, s.more = page.WithGaps(false), page.HasMore
	return nil
}

// pass moves the position behind a frame of the page.
func (s *Subscription) pass(frame sessions.Frame) {
	if gap, ok := frame.Body.(sessions.Gap); ok {
		s.last = gap.To
		return
	}
	s.last = frame.Seq
}

func (s *Subscription) end() Reason {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}

// Cursor names the position after the last frame returned; empty before the
// subscription is attached, and for one to a whole owner. Only the reader may call it.
func (s *Subscription) Cursor() sessions.Cursor {
	s.mu.Lock()
	life := s.life
	s.mu.Unlock()
	if life <= 0 {
		return ""
	}
	return sessions.CursorAt(life, s.last)
}

// Close ends the subscription at once. Only its reader may call it, any number
// of times.
func (s *Subscription) Close() {
	s.mu.Lock()
	life := s.life
	if s.reason == "" {
		s.reason = Closed
	}
	s.buffer, s.overflow = nil, false
	s.page, s.more = nil, false
	s.mu.Unlock()
	if life != 0 {
		s.feed.forget(s, life)
	}
}
