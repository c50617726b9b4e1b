package actors

import (
	"context"
	"time"

	"agenthost/sessions"
)

// leaveBehind lets the root mount another agent for the queued turns of one that
// broke down, once that one is gone.
func (a *agent) leaveBehind() {
	a.deps.send(a.deps.root, &takeUp{Owner: a.ident.owner, At: sessions.Address{ID: a.ident.id}})
}

// handleTakeUp looks for the queued turns that an agent before this one has left.
func (a *agent) handleTakeUp() {
	a.busy = true
	d, self, life := a.deps, a.self, a.life()
	d.background(func(ctx context.Context) {
		busy, err := d.store.BusyTurns(ctx)
		for wait := firstRetry; err != nil && mayPass(err); wait = min(2*wait, lastRetry) {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return
			}
			busy, err = d.store.BusyTurns(ctx)
		}
		msg := &leftBehind{}
		for _, s := range bySession(busy) {
			if s.session.Fence.Incarnation == life {
				msg.session, msg.queued = s.session, s.queued
			}
		}
		d.send(self, msg)
	})
}

func (a *agent) handleLeftBehind(msg *leftBehind) {
	a.busy = false
	if len(msg.queued) == 0 {
		return
	}
	a.learn(msg.session)
	for _, turn := range msg.queued {
		a.addQueued(turn)
	}
}

// takeUp asks the agent of a session to run its queued turns.
type takeUp struct {
	Owner sessions.Owner
	At    sessions.Address

	arrival
}

func (t *takeUp) owner() sessions.Owner     { return t.Owner }
func (t *takeUp) address() sessions.Address { return t.At }
func (t *takeUp) refuse(*sessions.Error)    {} // nobody waits for it
