package actors_test

import (
	"context"
	"sync"

	"agenthost/sessions"
)

// gatedStore lets a test hold up or refuse what a System asks of its store.
type gatedStore struct {
	sessions.Store

	mu         sync.Mutex
	onAccept   func(sessions.AcceptTurn) error
	onAccepted func() // before the answer is given
	onResolve  func(sessions.Address)
	onResolved func(sessions.Address) // before the answer is given
	onCleared  func()                 // before anybody is told
	onCommit   func(sessions.CommitTurn) error
	onStart    func() error
	onDelete   func(*sessions.DeleteSession) error // may change the command
	refused    int
}

// wrap is for actortest.Config.Wrap.
func (g *gatedStore) wrap(s sessions.Store) sessions.Store {
	g.Store = s
	return g
}

// set changes what is held up, under the lock that the store's methods take.
func (g *gatedStore) set(change func(*gatedStore)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change(g)
}

func (g *gatedStore) refusals() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refused
}

// count notes a refusal.
func (g *gatedStore) count(err error) error {
	if err != nil {
		g.set(func(g *gatedStore) { g.refused++ })
	}
	return err
}

func (g *gatedStore) AcceptTurn(ctx context.Context, c sessions.AcceptTurn) (sessions.AcceptedTurn, error) {
	g.mu.Lock()
	hook, after := g.onAccept, g.onAccepted
	g.mu.Unlock()
	if hook != nil {
		if err := g.count(hook(c)); err != nil {
			return sessions.AcceptedTurn{}, err
		}
	}
	result, err := g.Store.AcceptTurn(ctx, c)
	if after != nil {
		after()
	}
	return result, err
}

func (g *gatedStore) CommitTurn(ctx context.Context, c sessions.CommitTurn) (sessions.CommittedTurn, error) {
	g.mu.Lock()
	hook := g.onCommit
	g.mu.Unlock()
	if hook != nil {
		if err := g.count(hook(c)); err != nil {
			return sessions.CommittedTurn{}, err
		}
	}
	return g.Store.CommitTurn(ctx, c)
}

func (g *gatedStore) StartTurn(ctx context.Context, c sessions.StartTurn) (sessions.AcceptedTurn, bool, error) {
	g.mu.Lock()
	hook := g.onStart
	g.mu.Unlock()
	if hook != nil {
		if err := g.count(hook()); err != nil {
			return sessions.AcceptedTurn{}, false, err
		}
	}
	return g.Store.StartTurn(ctx, c)
}

func (g *gatedStore) DeleteSession(ctx context.Context, c sessions.DeleteSession, hidden func([]sessions.DeletedSession)) (*sessions.Receipt, error) {
	g.mu.Lock()
	hook := g.onDelete
	g.mu.Unlock()
	if hook != nil {
		if err := g.count(hook(&c)); err != nil {
			return nil, err
		}
	}
	return g.Store.DeleteSession(ctx, c, hidden)
}

func (g *gatedStore) Resolve(ctx context.Context, owner sessions.Owner, at sessions.Address) (sessions.Resolution, error) {
	g.mu.Lock()
	before, hook := g.onResolve, g.onResolved
	g.mu.Unlock()
	if before != nil {
		before(at)
	}
	means, err := g.Store.Resolve(ctx, owner, at)
	if hook != nil {
		hook(at)
	}
	return means, err
}

func (g *gatedStore) ClearOwner(ctx context.Context, c sessions.ClearOwner, hidden func(sessions.Incarnation, int64)) (sessions.Receipt, error) {
	return g.Store.ClearOwner(ctx, c, func(upTo sessions.Incarnation, count int64) {
		g.mu.Lock()
		hook := g.onCleared
		g.mu.Unlock()
		if hook != nil {
			hook()
		}
		hidden(upTo, count)
	})
}

// away is what a store answers that cannot be reached.
var away = sessions.Errorf(sessions.CodeStoreUnavailable, "The store is away for a test.")
