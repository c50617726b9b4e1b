package actors

import (
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"agenthost/sessions"
)

// closeTree closes the agents of the sessions that a delete has ended, and lets
// what is held for them start afresh. The one that was addressed may be none of
// them: then its mark is lifted.
func (r *root) closeTree(ctx actor.Context, d *deletion, gone []sessions.DeletedSession) {
	lives := make([]sessions.Incarnation, len(gone))
	var ended, unsure []*entry
	for i, s := range gone {
		lives[i] = s.Fence.Incarnation
		if e := r.byID[idAddress{s.Owner, s.ID}]; e != nil && e.life == lives[i] {
			ended = append(ended, e)
		}
	}
	for e := range r.unsure {
		if e.owner == d.owner && !slices.Contains(ended, e) {
			unsure = append(unsure, e)
		}
	}
	marked := d.entry
	if marked != nil && marked.deletion == d {
		marked.deletion = nil
	}
	for _, e := range ended {
		r.end(ctx, e, d)
	}
	for _, e := range unsure {
		r.doubt(ctx, e, d, lives)
	}
	if marked != nil && marked.state == closing {
		r.goOnUnlessAsked(ctx, marked)
	}
}

// end closes the agent of a session that is over, whatever its entry was about
// to do. An own delete that has come too late finds no session any more.
func (r *root) end(ctx actor.Context, e *entry, d *deletion) {
	if e.state == resolving {
		e.over = append(e.over, e.life)
		return
	}
	e.deletion = d
	if e.agent == nil {
		r.release(ctx, e)
		return
	}
	life := e.life
	r.askToClose(ctx, e, d, func(l sessions.Incarnation) bool { return l == life })
}

// doubt closes an agent if its session, which the root does not know for certain
// yet, is one of those that are over.
func (r *root) doubt(ctx actor.Context, e *entry, d *deletion, lives []sessions.Incarnation) {
	if e.state == resolving {
		e.over = append(e.over, lives...)
		return
	}
	r.askToClose(ctx, e, d, func(life sessions.Incarnation) bool { return slices.Contains(lives, life) })
}

// askToClose holds what comes for an entry until its agent has said whether it
// closes: an agent that closes takes nothing more.
func (r *root) askToClose(ctx actor.Context, e *entry, d *deletion, ends func(sessions.Incarnation) bool) {
	e.state = closing
	e.asked = append(e.asked, d)
	d.agents[e.agent.Id] = true
	ctx.Send(e.agent, &closeAgent{d, ends, errDeleted()})
}

// handleCloseAnswer parts an entry from an agent that closes, so that what was
// held starts afresh at once, or lifts the mark when the agent's session is none
// of those deleted.
func (r *root) handleCloseAnswer(ctx actor.Context, msg *closeAnswer) {
	d, e := msg.deletion, r.byAgent[msg.agent.Id]
	if !msg.closing {
		defer d.agentGone(msg.agent)
	}
	if e == nil {
		return
	}
	if msg.closing {
		r.part(e)
		r.release(ctx, e)
		return
	}
	e.asked = slices.DeleteFunc(e.asked, func(other *deletion) bool { return other == d })
	if e.deletion == d {
		e.deletion = nil
	}
	r.goOnUnlessAsked(ctx, e)
}

// goOnUnlessAsked lifts the mark of an entry when nothing else has set it.
func (r *root) goOnUnlessAsked(ctx actor.Context, e *entry) {
	if !e.dropped && e.deletion == nil && len(e.asked) == 0 {
		r.goOn(ctx, e)
	}
}

// part leaves an entry's agent, which closes, to the deletions it was asked by.
func (r *root) part(e *entry) {
	pid := e.agent
	r.dying[pid.Id] = r.unmount(e)
}
