package feed

import (
	"context"
	"sync"

	"agenthost/sessions"
)

// FrameReader is where subscriptions read kept frames.
type FrameReader interface {
	Frames(ctx context.Context, life sessions.Incarnation, q sessions.FrameQuery) (sessions.FramePage, error)
}

// Feed distributes the frames of all sessions.
type Feed struct {
	reader FrameReader

	mu     sync.RWMutex
	topics map[sessions.Incarnation]*topic
	owners map[sessions.Owner]*topic // who follows all sessions of an owner
	ended  bool
}

// topic is one life and who follows it.
type topic struct {
	owner sessions.Owner
	subs  map[*Subscription]struct{}
}

// New returns a feed whose subscriptions read kept frames from reader.
func New(reader FrameReader) *Feed {
	return &Feed{reader: reader, topics: map[sessions.Incarnation]*topic{}, owners: map[sessions.Owner]*topic{}}
}

// Publish hands frames of a life to its readers. Numbered frames must be
// durable already; unnumbered ones (deltas) are for whoever listens now.
func (f *Feed) Publish(life sessions.Incarnation, frames ...sessions.Frame) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if t := f.topics[life]; t != nil {
		for s := range t.subs {
			s.offer(frames)
		}
	}
}

// Tell hands a change of a session to those who follow its owner.
func (f *Feed) Tell(owner sessions.Owner, at sessions.Time, change sessions.SessionChanged) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if t := f.owners[owner]; t != nil {
		for s := range t.subs {
			s.offer([]sessions.Frame{{At: at, Body: change}})
		}
	}
}

// Listening reports whether anyone follows the life, so that publishers of
// unnumbered frames need not make them for nobody.
func (f *Feed) Listening(life sessions.Incarnation) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.topics[life] != nil
}

// End ends all subscriptions of a life, each after what it has buffered.
func (f *Feed) End(life sessions.Incarnation, reason Reason) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t := f.topics[life]; t != nil {
		f.endTopic(life, t, reason)
	}
}

// EndOwner ends all subscriptions of an owner's lives up to one.
func (f *Feed) EndOwner(owner sessions.Owner, upTo sessions.Incarnation, reason Reason) {
	f.endWhere(reason, func(l sessions.Incarnation, t *topic) bool { return t.owner == owner && l <= upTo })
}

// Stop ends every subscription with Stopping, and those opened later at once.
func (f *Feed) Stop() {
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	f.endWhere(Stopping, func(sessions.Incarnation, *topic) bool { return true })
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.owners {
		for s := range t.subs {
			s.finish(Stopping)
		}
	}
	clear(f.owners)
}

func (f *Feed) endWhere(reason Reason, ends func(sessions.Incarnation, *topic) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for life, t := range f.topics {
		if ends(life, t) {
			f.endTopic(life, t, reason)
		}
	}
}

// endTopic ends all subscriptions of a topic. f.mu is held.
func (f *Feed) endTopic(life sessions.Incarnation, t *topic, reason Reason) {
	delete(f.topics, life)
	for s := range t.subs {
		s.finish(reason)
	}
}

// Subscribe follows a life from the frame after seq. The subscription ends with
// Slow when its reader falls more than a buffer behind.
func (f *Feed) Subscribe(owner sessions.Owner, life sessions.Incarnation, seq int64) *Subscription {
	s := newSubscription(f, true)
	f.Attach(s, owner, life, "", seq, true)
	return s
}

// SubscribeOwner follows the changes of all of an owner's sessions from now on.
// They are not kept: what happens before or after the subscription is to be seen
// by listing the sessions. It ends with Slow as Subscribe's does.
func (f *Feed) SubscribeOwner(owner sessions.Owner) *Subscription {
	s := newSubscription(f, true)
	s.owner = owner
	s.attach(wholeOwner, "", 0, false)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		s.finish(Stopping)
		return s
	}
	if f.owners[owner] == nil {
		f.owners[owner] = &topic{owner: owner, subs: map[*Subscription]struct{}{}}
	}
	f.owners[owner].subs[s] = struct{}{}
	return s
}

// NewStream returns a subscription that follows nothing until it is attached: a
// prompt's caller makes it before the session of the prompt may even exist. A
// stream whose reader falls behind catches up from the store.
func (f *Feed) NewStream() *Subscription { return newSubscription(f, false) }

// Attach lets s follow a life of owner from the frame after seq. turn, unless it
// is "", leaves the frames of other turns out. catchUp says that frames after seq
// may have been published already; without it the first frame published is at
// most seq+1. A subscription is attached once; later calls do nothing.
func (f *Feed) Attach(s *Subscription, owner sessions.Owner, life sessions.Incarnation, turn sessions.TurnID, seq int64, catchUp bool) {
	// Under f.mu from here on: were s to read the store before it is among the
	// readers of the life, what is published in between would pass it by.
	f.mu.Lock()
	defer f.mu.Unlock()
	if !s.attach(life, turn, seq, catchUp) {
		return
	}
	if f.ended {
		s.finish(Stopping)
		return
	}
	if f.topics[life] == nil {
		f.topics[life] = &topic{owner: owner, subs: map[*Subscription]struct{}{}}
	}
	f.topics[life].subs[s] = struct{}{}
}

func (f *Feed) forget(s *Subscription, life sessions.Incarnation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if life == wholeOwner {
		remove(f.owners, s.owner, s)
	} else {
		remove(f.topics, life, s)
	}
}

func remove[K comparable](topics map[K]*topic, of K, s *Subscription) {
	t := topics[of]
	if t == nil {
		return
	}
	delete(t.subs, s)
	if len(t.subs) == 0 {
		delete(topics, of)
	}
}
