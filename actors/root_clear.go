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
	cmd := sessions.ClearOwner{Owner: msg.Owner, Announce: r.deps.announce != nil, TombstoneMs: tombstoneMs(r.deps.dedupTTL), Now: r.deps.nowMs()}
	r.clearing[msg.Owner] = d
	r.storing++
	r.deps.background(func(c context.Context) {
		receipt, err := r.deps.store.ClearOwner(c, cmd, func(upTo sessions.Incarnation) {
			r.deps.feed.EndOwner(msg.Owner, upTo, feed.Deleted)
			r.deps.send(r.deps.root, &hidden{deletion: d})
			r.deps.deleted()
		})
		r.deps.send(r.deps.root, &deletionStored{d, &receipt, err})
	})
}

// closeOwner parts every agent of the owner from its address and lets it close.
// An agent whose first accept is under way names the generation it was resolved
// under, so the store refuses what comes too late. What a delete under way has
// marked is closed here too: it may find no session any more.
func (r *root) closeOwner(ctx actor.Context, d *deletion) {
	for _, e := range r.entries() {
		if e.owner != d.owner {
			continue
		}
		d.held = append(e.held, d.held...)
		e.held = nil
		if e.agent != nil {
			r.askToClose(ctx, e, d)
			r.part(e)
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
