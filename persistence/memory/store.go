package memory

import (
	"context"
	"crypto/rand"

	"agenthost/sessions"
)

// Store is an in-memory sessions.Store. New makes one.
type Store struct {
	keep int64     // how many frames a session keeps; negative for all
	key  [32]byte  // of the hashes in tombstones
	door turnstile // guards all below

	closed   bool
	lastLife sessions.Incarnation
	lastTurn int64
	newest   sessions.Time // activity ever stored

	lives         map[sessions.Incarnation]*record
	ids           map[ownID]sessions.Incarnation
	keys          map[ownKey]sessions.Incarnation
	generations   map[sessions.Owner]int64                // of owners that were cleared
	cleared       map[sessions.Owner]sessions.Incarnation // the newest life that the last clear found
	claims        map[ownRequest]claim
	claimGraves   map[hash]claimGrave
	sessionGraves map[hash]sessionGrave
	ownerUsage    map[ownUsage]sessions.Usage
	unheard       []sessions.DeletedSession
	accessKeys    []sessions.StoredKey // oldest first
	agents        map[ownAgent]sessions.SavedAgent
	agentClaims   map[hash]agentClaim
	agentGraves   map[hash]sessions.Time // when they expire
}

var _ sessions.Store = (*Store)(nil)

// Ids, keys and request ids mean something within their owner only.
type (
	ownID struct {
		owner sessions.Owner
		id    sessions.SessionID
	}
	ownKey struct {
		owner sessions.Owner
		key   sessions.Key
	}
	ownRequest struct {
		owner sessions.Owner
		id    sessions.RequestID
	}
	ownUsage struct {
		owner sessions.Owner
		of    usageKey
	}
	ownAgent struct {
		owner sessions.Owner
		id    sessions.AgentID
	}
)

// Config has the options of a store.
type Config struct {
	// FramesPerSession is how many frames of a session are kept; beyond it the
	// oldest are cut, but none of a turn that has not ended. 0 means 100,000, a
	// negative number that all are kept.
	FramesPerSession int64
}

// New returns an empty store.
func New(cfg Config) *Store {
	s := &Store{
		keep:          cfg.FramesPerSession,
		lives:         map[sessions.Incarnation]*record{},
		ids:           map[ownID]sessions.Incarnation{},
		keys:          map[ownKey]sessions.Incarnation{},
		generations:   map[sessions.Owner]int64{},
		cleared:       map[sessions.Owner]sessions.Incarnation{},
		claims:        map[ownRequest]claim{},
		claimGraves:   map[hash]claimGrave{},
		sessionGraves: map[hash]sessionGrave{},
		ownerUsage:    map[ownUsage]sessions.Usage{},
		agents:        map[ownAgent]sessions.SavedAgent{},
		agentClaims:   map[hash]agentClaim{},
		agentGraves:   map[hash]sessions.Time{},
	}
	if s.keep == 0 {
		s.keep = sessions.DefaultLimits().FramesPerSession
	}
	rand.Read(s.key[:]) // never fails
	return s
}

// write runs f alone. f checks everything before it changes anything.
func write[R any](ctx context.Context, s *Store, f func() (R, error)) (R, error) {
	var none R
	if ctx.Err() != nil {
		return none, sessions.ErrOutcomeUnknown.Because(context.Cause(ctx))
	}
	return alone(s, f)
}

// read runs f alone. f changes nothing, and copies what it returns.
func read[R any](ctx context.Context, s *Store, f func() (R, error)) (R, error) {
	var none R
	if ctx.Err() != nil {
		return none, sessions.ErrReadGivenUp.Because(context.Cause(ctx))
	}
	return alone(s, f)
}

func alone[R any](s *Store, f func() (R, error)) (R, error) {
	s.door.lock()
	defer s.door.unlock()
	if s.closed {
		var none R
		return none, sessions.ErrStoreClosed
	}
	return f()
}

// activeAt returns the time to store as an activity's: now, or the newest one
// stored if the clock was set back, so that it never orders sessions wrongly.
func (s *Store) activeAt(now sessions.Time) sessions.Time {
	s.newest = max(s.newest, now)
	return s.newest
}
