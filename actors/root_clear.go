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
	d.all = true
	cmd := sessions.ClearOwner{Owner: msg.Owner, Announce: r.deps.announce != nil, TombstoneMs: tombstoneMs(r.deps.dedupTTL), Now: r.deps.nowMs()}
	r.clearing[msg.Owner] = d
	r.storing++
	r.deps.background(func(c context.Context) {
		receipt, err := r.deps.store.ClearOwner(c, cmd, func(upTo sessions.Incarnation, count int64) {
			r.deps.feed.EndOwner(msg.Owner, upTo, feed.Deleted)
			r.deps.send(r.deps.root, &hidden{deletion: d, count: count, upTo: upTo})
			r.deps.deleted()
		})
		r.deps.send(r.deps.root, &deletionStored{d, &receipt, err})
	})
}

// closeOwner closes every agent of the owner but those of sessions made since.
// One whose first accept is under way says itself whether its session was. What
// waits for the store is asked anew, as the answer may be older than the clear;
// so is what a delete under way has marked, since it may find no session now.
func (r *root) closeOwner(ctx actor.Context, d *deletion, upTo sessions.Incarnation) {
	ends := func(life sessions.Incarnation) bool { return life <= upTo }
	for _, e := range r.entries() {
		switch {
		case e.owner != d.owner || !ends(e.life):
		case e.agent == nil:
			d.held = append(e.held, d.held...)
			e.held = nil
			r.drop(e)
		case e.life != 0:
			e.deletion = d
			r.askToClose(ctx, e, d, ends)
		default:
			r.askToClose(ctx, e, d, ends)
		}
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
