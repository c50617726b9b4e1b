package actors

import (
	"context"
	"errors"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"agenthost/sessions"
)

// handlePrompt lets a prompt join the turn it repeats, or sends it to the store
// to be accepted.
func (a *agent) handlePrompt(ctx actor.Context, p *Prompt) {
	limits, refusal := a.limits(p)
	if refusal != nil && refusal.Code == sessions.CodeInvalidRequest {
		p.refuse(refusal)
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
	cmd := sessions.AcceptTurn{
		Owner: a.ident.owner, At: a.address(), Request: p.Request,
		TurnID: sessions.TurnID(newID()), NewID: sessions.SessionID(newID()),
		Content: p.Content, Retry: p.Retry, Limits: limits, Inference: a.profile.inference(p.Inference), Fence: a.activation(), Refusal: refusal,
		Generation: a.ident.gen, Now: a.deps.nowMs(),
	}
	cmd.Request.TTLMs = a.deps.dedupTTL.Milliseconds()
	admitted := a.deps.admission.take()
	cmd.Admitted = admitted
	a.busy = true
	d, self := a.deps, a.self
	d.background(func(c context.Context) {
		result, err := d.store.AcceptTurn(c, cmd)
		if admitted && (err != nil || result.Duplicate) {
			d.admission.free()
		}
		d.send(self, &accepted{p, cmd.Fence, result, err})
	})
}

// limits returns the bounds of a prompt's turn, or why there cannot be one.
func (a *agent) limits(p *Prompt) (sessions.TurnLimits, *sessions.Error) {
	if !a.known {
		return sessions.TurnLimits{}, errUnknownProfile(a.ident.profile)
	}
	return a.profile.limits(p.MaxIterations, p.PromptTimeoutMs)
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
	a.attach(p, a.run.turn, true)
	a.tellAccepted(p, a.run.turn, true, a.run.turn.FirstFrame)
	a.callers = append(a.callers, caller{p, true})
}

// attach lets a prompt's stream begin at the first frame of its turn.
func (a *agent) attach(p *Prompt, turn sessions.Turn, catchUp bool) {
	if p.Stream != nil {
		a.deps.feed.Attach(p.Stream, a.ident.owner, a.life(), turn.FirstFrame-1, catchUp)
	}
}

func (a *agent) tellAccepted(p *Prompt, turn sessions.Turn, duplicate bool, lastFrame int64) {
	if duplicate {
		p.tell(PromptIsDuplicate)
	} else {
		p.tell(PromptIsAccepted)
	}
	if p.Accepted != nil {
		answer(p.Accepted, PromptAccepted{
			SessionID: a.ident.id, Turn: turn, Duplicate: duplicate,
			Cursor: sessions.CursorAt(a.life(), lastFrame),
		})
	}
}

// handleAccepted starts the turn that the store accepted, or answers with what
// it said instead. A new turn means that the end of the one before is stored;
// the message that says so may still be on its way and comes first.
func (a *agent) handleAccepted(ctx actor.Context, msg *accepted) {
	if a.run != nil && msg.err == nil && !msg.turn.Duplicate {
		a.next = msg
		return
	}
	a.busy = false
	switch {
	case msg.err != nil:
		a.handleNotAccepted(ctx, msg)
	case msg.turn.Duplicate:
		a.handleDuplicate(ctx, msg)
	default:
		a.adopt(msg)
		a.tellAccepted(msg.prompt, a.run.turn, false, msg.turn.Session.LastFrame)
		a.going++
		a.run.start()
	}
}

// activation is the fence of what the agent does now: that of its run, which
// raises the epoch when it takes up a turn of the last host.
func (a *agent) activation() sessions.Fence {
	if a.run == nil {
		return a.fence
	}
	_, fence := a.run.left()
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
	if a.run != nil && a.run.turn.TurnID == turn.TurnID {
		a.join(p)
		return
	}
	if a.last == turn.TurnID && !turn.Status.Terminal() {
		a.handlePrompt(ctx, p) // it has ended since the store was asked
		return
	}
	if !turn.Status.Terminal() { // it belongs to nobody: a fault, as recovery ends such turns
		p.refuse(errFault().With("turnId", turn.TurnID))
		return
	}
	a.bind(msg.turn.Session)
	a.attach(p, turn, true)
	a.tellAccepted(p, turn, true, turn.LastFrame)
	p.reply(storedReply(msg.turn))
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

// adopt makes an accepted turn the agent's own.
func (a *agent) adopt(msg *accepted) {
	isNew := a.fence.Epoch == 0
	a.bind(msg.turn.Session)
	a.fence = msg.turn.Session.Fence
	if isNew {
		a.deps.send(a.deps.root, &bound{a.self, a.fence.Incarnation, a.ident.id})
	}
	a.run = newRun(a, msg.turn.Turn, a.fence)
	a.run.begin(msg.prompt.Trace, false)
	a.run.fingerprint = &msg.prompt.Request.Fingerprint
	a.run.remember(a.history, msg.turn)
	a.callers = append(a.callers, caller{msg.prompt, false})
	a.attach(msg.prompt, msg.turn.Turn, false)
	a.deps.feed.Publish(a.fence.Incarnation, msg.turn.Frames...)
	change := sessions.SessionUpdated
	if msg.turn.Created {
		change = sessions.SessionCreated
	}
	s := msg.turn.Session
	a.deps.feed.Tell(s.Owner, s.LastActiveAt, sessions.SessionChanged{Change: change, SessionID: s.ID, Status: s.Status})
}

// handleResume takes up a turn that the last host left unfinished.
func (a *agent) handleResume(msg *resume) {
	a.fence = msg.busy.Session.Fence
	a.deps.admission.busy.Add(1) // it was admitted by the last host
	a.run = newRun(a, msg.busy.Turn, a.fence)
	a.run.begin(trace.SpanContext{}, true)
	a.going++
	a.run.takeUp()
}

// bind learns which session answers at the agent's address.
func (a *agent) bind(s sessions.Session) {
	a.ident.id = s.ID
	if a.ident.life == 0 {
		a.ident.life = s.Fence.Incarnation
		a.deps.residents.mounted(a.ident.life)
	}
}
