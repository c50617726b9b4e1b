package host

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"agenthost/host/api"
	"agenthost/sessions"
)

// keyring is the host's keys in memory, so that to admit a request takes a hash and
// a look, the same for a good key and a bad one, and no write.
type keyring struct {
	store sessions.KeyStore
	now   func() time.Time

	mu       sync.RWMutex
	demanded bool // a request needs a key
	byHash   map[sessions.KeyHash]*heldKey
	byID     map[sessions.KeyID]*heldKey
	changed  func()
}

// heldKey is a key with what its use leaves behind.
type heldKey struct {
	key    sessions.AccessKey // guarded by the ring
	taking sync.Mutex         // guards what rate has left
	rate   *rate.Limiter      // nil without a bound
	used   atomic.Int64       // the last use, as a sessions.Time
}

// newKeyring returns the keys of store. Until they are loaded it demands one, and
// has none.
func newKeyring(store sessions.KeyStore, now func() time.Time) *keyring {
	return &keyring{store: store, now: now, demanded: true, changed: func() {},
		byHash: map[sessions.KeyHash]*heldKey{}, byID: map[sessions.KeyID]*heldKey{}}
}

// load reads the keys there are.
func (r *keyring) load(ctx context.Context) error {
	keys, err := r.store.Keys(ctx)
	if err != nil {
		return err
	}
	for _, k := range keys {
		r.hold(k)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.demanded = len(keys) > 0
	return nil
}

// hold takes a key into the ring. From the first on every request needs one.
func (r *keyring) hold(k sessions.StoredKey) {
	held := &heldKey{key: k.AccessKey}
	if k.PerSecond > 0 {
		held.rate = rate.NewLimiter(rate.Limit(k.PerSecond), k.Burst)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byHash[k.Hash], r.byID[k.ID] = held, held
	r.demanded = true
}

// revoke ends the use of a key.
func (r *keyring) revoke(k sessions.AccessKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if held := r.byID[k.ID]; held != nil {
		held.key.RevokedAt = k.RevokedAt
	}
}

// tell lets those know who wait for changes.
func (r *keyring) tell() {
	r.mu.RLock()
	changed := r.changed
	r.mu.RUnlock()
	changed()
}

// info returns a key as it is shown.
func (r *keyring) info(k sessions.AccessKey) api.KeyInfo {
	r.mu.RLock()
	defer r.mu.RUnlock()
	shown := api.KeyInfo{AccessKey: k}
	if held := r.byID[k.ID]; held != nil {
		shown.LastUsedAt = sessions.Time(held.used.Load())
	}
	return shown
}

// admit finds the key of a secret and counts a request of it.
func (r *keyring) admit(secret string) (api.Caller, error) {
	hash := r.store.KeyHash(secret)
	r.mu.RLock()
	demanded, held := r.demanded, r.byHash[hash]
	r.mu.RUnlock()
	if !demanded {
		return api.Caller{Owner: sessions.LocalOwner, Admin: true, Anyone: true}, nil
	}
	if err := r.use(held, 1); err != nil {
		return api.Caller{}, err
	}
	return api.Caller{Owner: held.key.Owner, Admin: held.key.Role == sessions.KeyOfAdmin, Key: held.key.ID}, nil
}

// readmit counts requests of a caller who was admitted before.
func (r *keyring) readmit(caller api.Caller, requests int) error {
	if caller.Home {
		return nil
	}
	r.mu.RLock()
	demanded, held := r.demanded, r.byID[caller.Key]
	r.mu.RUnlock()
	if !demanded {
		return nil
	}
	return r.use(held, requests)
}

// use counts requests of a key, nil for none.
func (r *keyring) use(held *heldKey, requests int) error {
	r.mu.RLock()
	good := held != nil && held.key.RevokedAt == 0
	r.mu.RUnlock()
	if !good {
		return errNoKey
	}
	if requests == 0 {
		return nil
	}
	now, wait := held.take(r.now, requests)
	if wait > 0 {
		return sessions.Errorf(sessions.CodeOverloaded, "The key may make %d requests a second, and has made more; try again after a pause.", held.key.PerSecond).
			With(api.DetailRetryAfterMs, wait.Milliseconds()+1).With("limit", "perSecond").With("max", int64(held.key.PerSecond))
	}
	held.used.Store(int64(sessions.TimeOf(now)))
	return nil
}

// take takes requests from what the key may make now, or nothing and says how long
// to wait.
func (h *heldKey) take(clock func() time.Time, requests int) (now time.Time, wait time.Duration) {
	h.taking.Lock() // a limiter wants moments in their order, and knows nothing of requests that leave the queue
	defer h.taking.Unlock()
	now = clock()
	if h.rate == nil || h.rate.AllowN(now, requests) {
		return now, 0
	}
	missing := float64(requests) - h.rate.TokensAt(now)
	return now, max(1, time.Duration(missing/float64(h.rate.Limit())*float64(time.Second)))
}

// errNoKey is the answer to no key, an unknown one and a revoked one alike.
var errNoKey = sessions.Errorf(sessions.CodeUnauthenticated,
	"This host takes requests with one of its keys only; send Authorization: Bearer with a key that is known and not revoked.")
