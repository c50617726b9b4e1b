package actors

import (
	"context"
	"errors"
	"slices"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"agenthost/sessions"
	"agenthost/tools"
)

// handlePrompt lets a prompt join the turn it repeats, or sends it to the store
// to be accepted.
func (a *agent) handlePrompt(ctx actor.Context, p *Prompt) {
	limits, refusal := a.limits(p)
	inference, err := a.deps.inference(a.profile, p.Inference)
	if refusal != nil && refusal.Code == sessions.CodeInvalidRequest {
		err = refusal
	}
	if err != nil {
		p.refuse(sessions.AsError(err))
		return
	}
	if a.run != nil && a.run.turn.RequestID == p.Request.ID && a.run.fingerprint != nil {
		if *a.run.fingerprint != p.Request.Fingerprint {
			p.refuse(errRequestConflict(p.Request.ID))
			return
		}
		a.join(p)
		return
	}
	if w := a.findWaiting(p.Request.ID); w != nil && w.fingerprint != nil {
		if *w.fingerprint != p.Request.Fingerprint {
			p.refuse(errRequestConflict(p.Request.ID))
			return
		}
		a.joinWaiting(w, p, w.lastFrame)
		return
	}
	cmd := sessions.AcceptTurn{
		Owner: a.ident.owner, At: a.address(), Request: p.Request,
		TurnID: sessions.TurnID(newID()), NewID: sessions.SessionID(newID()), Begin: p.begins(),
		Content: p.Content, Retry: p.Retry, Limits: limits, Inference: inference, Fence: a.activation(), Refusal: refusal,
		Generation: a.ident.gen, Busy: p.Busy, QueueLimit: a.deps.limits.QueuedPrompts, Now: a.deps.nowMs(),
	}
	cmd.Request.TTLMs = a.deps.dedupTTL.Milliseconds()
	admitted := a.deps.admission.take()
	cmd.Admitted = admitted
	a.busy = true
	r, d, self := a.run, a.deps, a.self
	d.background(func(c context.Context) {
		result, err := d.store.AcceptTurn(c, cmd)
		r.settleFence(err)
		if admitted && (err != nil || result.Duplicate || result.Steers) {
			d.admission.free()
		}
		d.send(self, &accepted{p, cmd.Fence, result, err})
	})
}

// limits returns the bounds of a prompt's turn, or why there cannot be one.
func (a *agent) limits(p *Prompt) (sessions.TurnLimits, *sessions.Error) {
	if !a.known {
		return sessions.TurnLimits{}, sessions.UnknownProfile(a.ident.profile)
	}
	return a.profile.limits(p.MaxIterations, p.PromptTimeoutMs)
}

// inference returns what a prompt's turn asks of models, or why it cannot.
func (d *deps) inference(p Profile, asked sessions.Inference) (sessions.Inference, error) {
	if len(asked.ClientTools) == 0 {
		return p.inference(asked), nil
	}
	const field = "/args/clientTools"
	if err := d.checkClientTools(field, asked.ClientTools); err != nil {
		return asked, err
	}
	plain, err := plainClientTools(field, asked.ClientTools)
	if err != nil {
		return asked, err
	}
	asked.ClientTools = plain
	asked = p.inference(asked)
	if _, err := tools.ClientTools(field, asked.ClientTools); err != nil { // those of the profile are among them now
		return asked, sessions.InvalidField(field, "%s", sessions.AsError(err).Message).Because(err)
	}
	return asked, nil
}

// address is how the store finds the session: as it was first asked for, so
// that a key whose session is yet to be made makes it.
func (a *agent) address() sessions.Address {
	if a.ident.id != "" {
		return sessions.Address{ID: a.ident.id}
	}
	return a.ident.at
}

// newID returns a UUIDv7: unique over all lives, and sorted by time.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// join lets a repeated prompt wait for the end of the turn it repeats.
func (a *agent) join(p *Prompt) {
	turn := a.run.turn
	c := a.follow(caller{p, true}, turn.TurnID, turn.FirstFrame, true)
	a.tellAccepted(p, turn, true, turn.FirstFrame)
	a.callers = joined(a.callers, c)
	a.tellWhoWaits()
}

// joined returns callers with one more. Those who have gone make room for him.
func joined(callers []caller, c caller) []caller {
	if len(callers) == cap(callers) {
		callers = slices.DeleteFunc(callers, caller.leaves)
	}
	return append(callers, c)
}

// leaves lets a caller out who has gone, and reports whether he has.
func (c caller) leaves() bool {
	if !c.prompt.isGone() {
		return false
	}
	c.prompt.leaveEdge()
	return true
}

func (a *agent) tellAccepted(p *Prompt, turn sessions.Turn, duplicate bool, lastFrame int64) {
	a.tell(p, PromptAccepted{Turn: turn, Duplicate: duplicate}, lastFrame)
}

func (a *agent) tellWaiting(p *Prompt, turn sessions.Turn, duplicate bool, lastFrame int64) {
	a.tell(p, PromptAccepted{Turn: turn, Duplicate: duplicate, Waits: true}, lastFrame)
}

// tell lets a prompt's caller know that the store has it, and lets go of what was
// only for the store: its caller may wait for long.
func (a *agent) tell(p *Prompt, took PromptAccepted, lastFrame int64) {
	p.Content, p.Inference = nil, sessions.Inference{}
	if took.Duplicate {
		p.tell(PromptIsDuplicate)
	} else {
		p.tell(PromptIsAccepted)
	}
	if p.Accepted != nil {
		took.SessionID, took.Cursor = a.ident.id, sessions.CursorAt(a.life(), lastFrame)
		answer(p.Accepted, took)
	}
}

// handleAccepted starts the turn that the store accepted, or answers with what
// it said instead. A new turn means that the end of the one before is stored;
// the message that says so may still be on its way and comes first.
func (a *agent) handleAccepted(ctx actor.Context, msg *accepted) {
	if a.run != nil && msg.err == nil && msg.starts() {
		a.next = msg
		return
	}
	a.busy = false
	switch {
	case msg.err != nil:
		a.handleNotAccepted(ctx, msg)
	case msg.turn.Duplicate && a.life() == 0 && msg.prompt.begins() != nil:
		msg.prompt.found = msg.turn.Session.ID // which this agent is not mounted for
		ctx.Send(a.deps.root, msg.prompt)
	case msg.turn.Duplicate:
		a.handleDuplicate(ctx, msg)
	case !msg.starts():
		a.enqueue(msg)
	default:
		a.adopt(msg.turn, &msg.prompt.Request.Fingerprint, msg.prompt.Trace, []caller{{msg.prompt, false}})
		a.tellAccepted(msg.prompt, a.run.turn, false, msg.turn.Session.LastFrame)
		a.going++
		a.run.start()
	}
}

// starts reports whether the store has started a turn for the prompt.
func (m *accepted) starts() bool {
	return !m.turn.Duplicate && !m.turn.Steers && m.turn.Turn.Status != sessions.TurnIsQueued
}

// activation is the fence of what the agent does now: that of its run, which
// raises the epoch when it takes up a turn of the last host.
func (a *agent) activation() sessions.Fence {
	if a.run == nil {
		return a.fence
	}
	_, _, fence := a.run.left()
	return fence
}

func (a *agent) handleNotAccepted(ctx actor.Context, msg *accepted) {
	if errors.Is(msg.err, sessions.ErrFenced) && msg.fence != a.activation() {
		a.handlePrompt(ctx, msg.prompt) // its own run has raised the epoch since
		return
	}
	isGone := a.life() != 0 && sessions.CodeOf(msg.err) == sessions.CodeSessionNotFound
	if isGone || errors.Is(msg.err, sessions.ErrFenced) {
		// What this agent was mounted for is over.
		a.defunct = true
		a.dropWaiting(errDeleted())
		a.proposeIdle()
		msg.prompt.refuse(errDeleted())
		return
	}
	msg.prompt.refuse(sessions.AsError(msg.err))
}

// handleDuplicate answers a prompt whose request id the store knows: with the
// stored end of its turn, or by waiting for it.
func (a *agent) handleDuplicate(ctx actor.Context, msg *accepted) {
	p, turn := msg.prompt, msg.turn.Turn
	switch {
	case turn.Status.Terminal():
		a.bind(msg.turn.Session)
		a.follow(caller{p, true}, turn.TurnID, turn.FirstFrame, true)
		a.tellAccepted(p, turn, true, turn.LastFrame)
		p.reply(storedReply(msg.turn))
	case turn.Status == sessions.TurnIsQueued:
		a.learn(msg.turn.Session)
		a.joinWaiting(a.addQueued(turn), p, msg.turn.Session.LastFrame)
	case a.last != nil && a.last.run.turn.TurnID == turn.TurnID:
		a.handlePrompt(ctx, p) // it has ended since the store was asked
	case a.run == nil || a.run.turn.TurnID != turn.TurnID:
		// It belongs to nobody: a fault, as recovery ends such turns.
		p.refuse(errFault().With("turnId", turn.TurnID))
	case msg.turn.Steers:
		a.joinText(p, turn, msg.turn.Session.LastFrame)
	default:
		a.join(p)
	}
}

// storedReply is the end of a turn as the store has it, for a duplicate.
func storedReply(t sessions.AcceptedTurn) PromptReply {
	r := PromptReply{SessionID: t.Session.ID, Turn: t.Turn, Duplicate: true, Final: t.Final}
	switch {
	case t.Turn.Error != nil:
		r.Err = t.Turn.Error.Err().With("turnId", t.Turn.TurnID).With("duplicate", true)
	case t.Turn.Status == sessions.TurnIsCancelled:
		r.Err = errCancelled(t.Turn.TurnID).With("duplicate", true)
	}
	return r
}

// adopt makes a turn that the store has started the agent's own. asked is the span
// that has asked for it.
func (a *agent) adopt(started sessions.AcceptedTurn, fingerprint *[32]byte, asked trace.SpanContext, callers []caller) {
	a.learn(started.Session)
	a.run = newRun(a, started.Turn, a.fence)
	a.run.begin(asked, false)
	a.run.fingerprint = fingerprint
	a.run.remember(a.history, a.summary, started)
	for _, c := range callers {
		a.callers = append(a.callers, a.follow(c, started.Turn.TurnID, started.Turn.FirstFrame, false))
	}
	a.deps.feed.Publish(a.fence.Incarnation, started.Frames...)
	change := sessions.SessionUpdated
	if started.Created {
		change = sessions.SessionCreated
	}
	a.tellChanged(change, started.Session, started.Session.LastActiveAt)
}

// tellChanged lets those who follow the owner know of a change of the session.
func (a *agent) tellChanged(change sessions.SessionChange, s sessions.Session, at sessions.Time) {
	a.deps.feed.Tell(s.Owner, at, sessions.SessionChanged{Change: change, SessionID: s.ID, Status: s.Status})
}

// handleResume takes up what the last host, or an agent before this one, left
// unfinished. Its turns were admitted then.
func (a *agent) handleResume(msg *resume) {
	a.fence = msg.session.Fence
	for _, turn := range msg.queued {
		a.addQueued(turn)
	}
	if msg.active == nil {
		a.recovering = true
		return
	}
	a.run = newRun(a, *msg.active, a.fence)
	if msg.active.Status == sessions.TurnIsWaiting {
		a.run.place = false
	} else {
		a.deps.admission.busy.Add(1)
	}
	if msg.fresh && !a.deps.clean {
		a.run.tries = 1
	}
	a.run.begin(trace.SpanContext{}, true)
	a.going++
	a.run.takeUp()
	if msg.interrupts {
		a.cutRun(cutCancelled)
	}
}

// learn takes over the session and the activation that the store has answered
// with.
func (a *agent) learn(s sessions.Session) {
	isNew := a.fence.Epoch == 0
	a.bind(s)
	if a.run == nil && s.Fence.Epoch > a.fence.Epoch { // an answer may be older than what the last run has left
		a.fence = s.Fence
	}
	if isNew {
		a.deps.send(a.deps.root, &bound{a.self, a.fence.Incarnation, a.ident.id})
	}
}

// bind learns which session answers at the agent's address.
func (a *agent) bind(s sessions.Session) {
	a.ident.id = s.ID
	if a.ident.life == 0 {
		a.ident.life = s.Fence.Incarnation
		a.deps.residents.mounted(a.ident.life, a.ident.owner)
	}
}
