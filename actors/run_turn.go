package actors

import (
	"context"
	"errors"

	"agenthost/sessions"
	"agenthost/tools/subagent"
)

// runTurn is a run as the tools of its calls may use it.
type runTurn struct {
	run   *run
	state *callState // of the call
}

// Life is the life of the run's session.
func (t runTurn) Life() sessions.Incarnation {
	t.run.mu.Lock()
	defer t.run.mu.Unlock()
	return t.run.fence.Incarnation
}

// Refs is the store of the run.
func (t runTurn) Refs() sessions.RefStore { return t.run.deps.store }

// Beside runs f beside the turns of the run's session.
func (t runTurn) Beside(f func(ctx context.Context)) {
	t.run.beside.start(t.run.deps, t.run.ident.id, f)
}

// Agents are the sub-agents in the run's own host.
func (t runTurn) Agents(profile string) subagent.Place {
	return localAgents{t.run.deps, t.run.ident.owner, t.run.ident.id, profile}
}

// ChildDepth counts the levels above a sub-agent of the run's session.
func (t runTurn) ChildDepth(ctx context.Context) (int, error) {
	return t.run.deps.childDepth(ctx, t.run.ident.owner, t.run.ident.id)
}

// ChildChanged stores a frame about a sub-session, unless the turn's last one
// about it says the same. When the turn has ended, so has the context of its
// calls, which says why.
func (t runTurn) ChildChanged(c sessions.ChildChanged) error {
	r := t.run
	err := r.persist(r.deps.lifetime, func(commit *sessions.CommitTurn) func() {
		if r.children[c.SessionID] == c.Status {
			return nil
		}
		commit.Frames = append(commit.Frames, c)
		return func() {
			if r.children == nil {
				r.children = map[sessions.SessionID]sessions.RefStatus{}
			}
			r.children[c.SessionID] = c.Status
		}
	})
	if errors.Is(err, errRunEnded) {
		<-r.ctx.Done()
	}
	return err
}
