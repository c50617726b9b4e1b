package actors

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"

	"agenthost/actors/feed"
	"agenthost/sessions"
)

// startClear linearises a clear-all at the root: what came before is fenced by
// the store, what comes after is held until the store has hidden all sessions
// of the owner, and starts afresh then.
func (r *root) startClear(ctx actor.Context, msg *ClearAll) {
	if r.drained != nil {
		msg.refuse(errStopping())
		return
	}
	if r.clearing[msg.Owner] != nil {
		msg.refuse(errClearing())
		return
	}
	d := newDeletion(msg.Owner, msg.Grace, msg.Reply)
	cmd := sessions.ClearOwner{Owner: msg.Owner, TombstoneMs: tombstoneMs(r.deps.dedupTTL), Now: r.deps.nowMs()}
	r.clearing[msg.Owner] = d
	r.storing++
	r.deps.background(func(c context.Context) {
		receipt, err := r.deps.store.ClearOwner(c, cmd, func(upTo sessions.Incarnation) {
			r.deps.feed.EndOwner(msg.Owner, upTo, feed.Deleted)
			r.deps.send(r.deps.root, &hidden{deletion: d})
		})
		r.deps.send(r.deps.root, &deletionStored{d, &receipt, err})
	})
}

// closeOwner parts every agent of the owner from its address and lets it close.
// An agent whose first accept is under way names the generation it was resolved
// under, so the store refuses what comes too late. A delete that the clear has
// come before finds no session any more, so its agent is closed here too.
func (r *root) closeOwner(ctx actor.Context, d *deletion) {
	for _, e := range r.entries() {
		if e.owner != d.owner || e.deletion != nil && e.deletion.isHidden {
			continue
		}
		d.held = append(e.held, d.held...)
		e.held = nil
		if e.agent != nil {
			ctx.Send(e.agent, &closeAgent{0, errDeleted()})
			r.part(e, d)
		}
		r.drop(e)
	}
	r.releaseOwner(ctx, d)
}

func (r *root) releaseOwner(ctx actor.Context, d *deletion) {
	delete(r.clearing, d.owner)
	held := d.held
	d.held = nil
	for _, req := range held {
		r.route(ctx, req)
	}
}
