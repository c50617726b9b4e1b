package actors

import (
	"context"
	"slices"
	"strconv"

	"github.com/asynkron/protoactor-go/actor"

	"agenthost/sessions"
)

// root is the AgentsRoot actor.
//
// Owns: who is mounted for which address, what waits for a mount, and the
// deletions under way. Parent: none. Children: one agent per resident session.
// It does no I/O and never waits: the store is asked by goroutines that answer
// with messages. A panic of it is recovered by its middleware; the guardian
// resumes it, since stopping it would stop every session.
type root struct {
	deps *deps

	byID      map[idAddress]*entry
	byKey     map[keyAddress]*entry
	byAgent   map[string]*entry      // by the id of the agent's PID
	unsure    map[*entry]struct{}    // what the root waits to hear the session of
	dying     map[string][]*deletion // who waits for an agent that closes, by PID id
	clearing  map[sessions.Owner]*deletion
	arrivals  uint64 // requests so far
	agents    uint64 // names given so far; never reused
	storing   int    // deletions the store works on
	drained   chan<- struct{}
	drainWait bool
}

type idAddress struct {
	owner sessions.Owner
	id    sessions.SessionID
}

type keyAddress struct {
	owner sessions.Owner
	key   sessions.Key
}

func newRoot(d *deps) *root {
	return &root{
		deps:     d,
		byID:     map[idAddress]*entry{},
		byKey:    map[keyAddress]*entry{},
		byAgent:  map[string]*entry{},
		unsure:   map[*entry]struct{}{},
		dying:    map[string][]*deletion{},
		clearing: map[sessions.Owner]*deletion{},
	}
}

// Receive handles one message.
func (r *root) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case request:
		r.route(ctx, msg)
	case *ClearAll:
		r.startClear(ctx, msg)
	case *resolved:
		r.handleResolved(ctx, msg)
	case *bound:
		r.handleBound(ctx, msg)
	case *idle:
		r.handleIdle(ctx, msg)
	case *closeAnswer:
		r.handleCloseAnswer(ctx, msg)
	case *hidden:
		r.handleHidden(ctx, msg)
	case *deletionStored:
		r.handleDeletionStored(ctx, msg)
	case *graceOver:
		msg.deletion.answerPending()
	case *resume:
		r.handleResume(ctx, msg)
	case *alive:
		answer(msg.reply, struct{}{})
	case *drain:
		r.startDrain(ctx, msg)
	case *actor.Terminated:
		r.handleTerminated(ctx, msg.Who)
	}
}

// route finds the session of a request, or sets out to find it.
func (r *root) route(ctx actor.Context, req request) {
	if r.drained != nil {
		req.refuse(errStopping())
		return
	}
	if a := req.arrived(); a.number == 0 {
		r.arrivals++
		a.number = r.arrivals
		if p, ok := req.(*Prompt); ok {
			p.observer = r.deps.observer
		}
	}
	if c := r.clearing[req.owner()]; c != nil {
		c.held = hold(c.held, req)
		return
	}
	e := r.lookup(req.owner(), req.address())
	if e == nil {
		e = r.newEntry(req.owner(), req.address())
		r.resolve(ctx, e)
	}
	r.deliver(ctx, e, req)
}

// deliver passes a request to an entry's agent, or keeps it until there is one.
func (r *root) deliver(ctx actor.Context, e *entry, req request) {
	if e.state != live {
		e.held = hold(e.held, req)
		return
	}
	if del, ok := req.(*Delete); ok {
		r.startDelete(ctx, e, del)
		return
	}
	if e.agent == nil {
		r.mount(ctx, e)
	}
	e.forwarded++
	ctx.Send(e.agent, req)
}

// goOn takes up what has waited for an entry to be live again: what it has kept,
// or its agent's proposal to leave.
func (r *root) goOn(ctx actor.Context, e *entry) {
	e.state = live
	r.deliverHeld(ctx, e)
	if proposal := e.proposal; proposal != nil {
		e.proposal = nil
		r.handleIdle(ctx, proposal)
	}
}

// deliverHeld passes on what an entry has kept, as far as its state allows.
func (r *root) deliverHeld(ctx actor.Context, e *entry) {
	held := e.held
	e.held = nil
	for _, req := range held {
		r.deliver(ctx, e, req)
	}
	if e.state == live && e.agent == nil {
		r.drop(e)
	}
}

// resolve asks the store what an entry's address means.
func (r *root) resolve(ctx actor.Context, e *entry) {
	e.state = resolving
	r.unsure[e] = struct{}{}
	r.deps.background(func(c context.Context) {
		means, err := r.deps.store.Resolve(c, e.owner, e.at)
		r.deps.send(r.deps.root, &resolved{e, means, err})
	})
}

func (r *root) handleResolved(ctx actor.Context, msg *resolved) {
	e := msg.entry
	over := e.over
	e.over = nil
	delete(r.unsure, e)
	if e.dropped {
		return
	}
	switch {
	case msg.err != nil:
		r.refuseAll(e, sessions.AsError(msg.err))
	case slices.Contains(over, msg.means.Life):
		r.resolve(ctx, e) // the answer was older than the session's end
	case e.life != 0 && msg.means.Life != e.life:
		// The session is over, and its names may mean different ones now.
		r.release(ctx, e)
	case msg.means.Life == 0 && e.at.ID != "":
		if begin := e.begins(); begin != nil {
			e.gen, e.profile = msg.means.Generation, begin.Profile
			r.goOn(ctx, e)
			return
		}
		r.handleUnknown(ctx, e)
	default:
		e.learn(msg.means)
		if other := r.alias(e); other != e {
			e.giveHeld(other)
			r.deliverHeld(ctx, other)
			return
		}
		r.goOn(ctx, e)
	}
}

// handleUnknown answers what was sent to an id that no session has. The store
// still decides about prompts, whose request id may be known, and about
// deletes, which finish what an older crash has left.
func (r *root) handleUnknown(ctx actor.Context, e *entry) {
	held := e.held
	r.drop(e)
	for _, req := range held {
		switch req := req.(type) {
		case *Prompt:
			r.deps.background(func(c context.Context) { r.deps.acceptUnknown(c, req) })
		case *Delete:
			r.storeDelete(newDeletion(req.Owner, req.Grace, req.Reply), req)
		default:
			req.refuse(sessions.ErrNoSession)
		}
	}
}

func (r *root) mount(ctx actor.Context, e *entry) {
	r.agents++
	props := agentProps(r.deps, e.identity())
	pid, err := ctx.SpawnNamed(props, strconv.FormatUint(r.agents, 10))
	if err != nil { // the name is new, so this is a fault of the tree itself
		panic(err)
	}
	e.agent, e.forwarded = pid, 0
	r.byAgent[pid.Id] = e
	if e.life == 0 {
		r.unsure[e] = struct{}{}
	}
}

// handleResume mounts the agent of an unfinished turn before the first request
// can come for its session.
func (r *root) handleResume(ctx actor.Context, msg *resume) {
	s := msg.session
	at := sessions.Address{ID: s.ID}
	if r.drained != nil || r.lookup(s.Owner, at) != nil {
		return
	}
	e := r.newEntry(s.Owner, at)
	e.learn(sessions.Resolution{Life: s.Fence.Incarnation, ID: s.ID, Key: s.Key(), Profile: s.ProfileKey})
	e.state = live
	r.alias(e)
	r.mount(ctx, e)
	ctx.Send(e.agent, msg)
}

// handleBound records the session that an agent's first accept made.
func (r *root) handleBound(ctx actor.Context, msg *bound) {
	e := r.byAgent[msg.agent.Id]
	if e == nil {
		return
	}
	delete(r.unsure, e)
	e.life, e.id = msg.life, msg.id
	r.alias(e)
	if e.state == live {
		r.deliverHeld(ctx, e) // what was sent to the id meanwhile
	}
}

// handleIdle lets an agent go that has handled all it was sent. Only the root
// forwards and decides, so nothing sent to an agent that leaves is lost: what
// comes from now on is held until the agent is gone.
func (r *root) handleIdle(ctx actor.Context, msg *idle) {
	e := r.byAgent[msg.agent.Id]
	if e == nil {
		return
	}
	if e.state == closing {
		e.proposal = msg
		return
	}
	if msg.defunct {
		e.state = leaving
	}
	if e.forwarded == msg.handled && !msg.working && (e.state == live || msg.defunct) {
		e.state = leaving
		ctx.Stop(msg.agent)
	}
}

func (r *root) handleTerminated(ctx actor.Context, who *PID) {
	waiting := r.dying[who.Id]
	delete(r.dying, who.Id)
	if e := r.byAgent[who.Id]; e != nil {
		waiting = r.unmount(e)
		r.afterAgent(ctx, e)
	}
	for _, d := range waiting {
		d.agentGone(who)
	}
	r.finishDrain()
}

// afterAgent decides what becomes of an entry whose agent is gone.
func (r *root) afterAgent(ctx actor.Context, e *entry) {
	switch d := e.deletion; {
	case d != nil && d.isHidden:
		r.release(ctx, e)
	case d != nil: // the deletion will find no agent
	case len(e.held) > 0:
		r.resolve(ctx, e)
	default:
		r.drop(e)
	}
}

// unmount forgets an entry's agent, and returns the deletions that have asked it
// to close.
func (r *root) unmount(e *entry) []*deletion {
	asked := e.asked
	delete(r.byAgent, e.agent.Id)
	delete(r.unsure, e)
	e.agent, e.asked, e.proposal = nil, nil, nil
	e.waits = true // for all the root knows
	return asked
}

// startDrain refuses all that waits and lets every agent leave.
func (r *root) startDrain(ctx actor.Context, msg *drain) {
	r.drained = msg.done
	for _, e := range r.entries() {
		r.refuseAll(e, errStopping())
	}
	for _, c := range r.clearing {
		c.refuseHeld(errStopping())
	}
	for _, pid := range ctx.Children() {
		ctx.Send(pid, &leave{msg.grace})
	}
	r.drainWait = true
	r.finishDrain()
}

// finishDrain tells who waits for the drain that the last agent is gone and the
// last deletion answered.
func (r *root) finishDrain() {
	if r.drainWait && len(r.byAgent) == 0 && len(r.dying) == 0 && r.storing == 0 {
		r.drainWait = false
		close(r.drained)
	}
}
