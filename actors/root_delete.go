package actors

import (
	"cmp"
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"agenthost/actors/feed"
	"agenthost/sessions"
)

// deletion is a delete or a clear-all under way. Its caller is answered when
// the store has removed everything and every agent is gone, or when the grace
// period is over; both go on by themselves.
type deletion struct {
	owner sessions.Owner
	entry *entry // of a delete whose address had one; nil for a clear-all
	reply chan<- DeleteReply

	isHidden bool
	hidden   int64 // sessions, once isHidden
	stored   bool
	all      bool // it is a clear-all
	receipt  *sessions.Receipt
	agents   map[string]bool // PID ids of agents that close, or have not said whether they do
	held     []request       // of a clear-all: what came for its owner meanwhile
	grace    time.Duration
	timer    *time.Timer
	answered bool
}

func newDeletion(owner sessions.Owner, grace time.Duration, reply chan<- DeleteReply) *deletion {
	return &deletion{owner: owner, reply: reply, agents: map[string]bool{}, grace: cmp.Or(grace, defaultDeleteGrace)}
}

func (d *deletion) refuseHeld(err *sessions.Error) {
	for _, req := range d.held {
		req.refuse(err)
	}
	d.held = nil
}

func (d *deletion) agentGone(who *PID) {
	delete(d.agents, who.Id)
	d.answerIfDone()
}

func (d *deletion) answerIfDone() {
	if d.stored && len(d.agents) == 0 {
		d.answer(DeleteReply{Receipt: d.receipt, Pending: d.receipt != nil && !d.receipt.Complete})
	}
}

// answerPending answers although removal or actors are not done.
func (d *deletion) answerPending() {
	receipt := sessions.Receipt{Sessions: d.hidden, Rows: map[string]int64{}}
	if d.receipt != nil {
		receipt = *d.receipt
	}
	receipt.Complete = false
	d.answer(DeleteReply{Receipt: &receipt, Pending: true})
}

func (d *deletion) answer(r DeleteReply) {
	if d.answered {
		return
	}
	d.answered = true
	if d.timer != nil {
		d.timer.Stop()
	}
	answer(d.reply, r)
}

// startDelete marks an entry closing and lets the store decide. What comes for
// the session meanwhile is held.
func (r *root) startDelete(ctx actor.Context, e *entry, msg *Delete) {
	d := newDeletion(e.owner, msg.Grace, msg.Reply)
	r.storeDelete(d, msg)
	e.state, e.deletion, d.entry = closing, d, e
}

func (r *root) storeDelete(d *deletion, msg *Delete) {
	cmd := sessions.DeleteSession{
		Owner: msg.Owner, At: msg.At, Children: msg.Children, RejectIfBusy: msg.RejectIfBusy, OnlySettled: msg.OnlySettled, Retire: msg.Retire,
		Announce: r.deps.announce != nil, TombstoneMs: tombstoneMs(r.deps.dedupTTL), Now: r.deps.nowMs(),
	}
	r.storing++
	r.deps.background(func(c context.Context) {
		receipt, err := r.deps.store.DeleteSession(c, cmd, func(gone []sessions.DeletedSession) {
			for _, s := range gone {
				r.deps.feed.End(s.Fence.Incarnation, feed.Deleted)
			}
			r.deps.send(r.deps.root, &hidden{deletion: d, count: int64(len(gone)), gone: gone})
			r.deps.deleted()
		})
		r.deps.send(r.deps.root, &deletionStored{d, receipt, err})
	})
}

// handleHidden closes the agents of what a deletion has hidden. The grace period
// begins here: until then nothing is promised.
func (r *root) handleHidden(ctx actor.Context, msg *hidden) {
	d := msg.deletion
	d.isHidden, d.hidden = true, msg.count
	d.timer = time.AfterFunc(d.grace, func() { r.deps.send(r.deps.root, &graceOver{d}) })
	if r.clearing[d.owner] == d {
		r.tellGone(d.owner, "")
		r.closeOwner(ctx, d, msg.upTo)
		return
	}
	for _, s := range msg.gone {
		r.tellGone(s.Owner, s.ID)
	}
	r.closeTree(ctx, d, msg.gone)
}

// tellGone lets those who follow an owner know of a deletion; id "" means all.
func (r *root) tellGone(owner sessions.Owner, id sessions.SessionID) {
	r.deps.feed.Tell(owner, r.deps.nowMs(), sessions.SessionChanged{Change: sessions.SessionGone, SessionID: id})
}

func (r *root) handleDeletionStored(ctx actor.Context, msg *deletionStored) {
	d := msg.deletion
	r.storing--
	defer r.finishDrain()
	d.stored, d.receipt = true, msg.receipt
	if !d.isHidden {
		r.lift(ctx, d)
	}
	if msg.err != nil {
		d.answer(DeleteReply{Err: sessions.AsError(msg.err)})
		return
	}
	if msg.receipt != nil {
		r.deps.observer.Deleted(d.all, *msg.receipt)
	}
	d.answerIfDone()
}

// lift ends a deletion that hid nothing: what was held goes on.
func (r *root) lift(ctx actor.Context, d *deletion) {
	if r.clearing[d.owner] == d {
		r.releaseOwner(ctx, d)
		return
	}
	if e := d.entry; e != nil && e.deletion == d {
		e.deletion = nil
		r.goOnUnlessAsked(ctx, e)
	}
}
