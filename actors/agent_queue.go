package actors

import (
	"slices"

	"go.opentelemetry.io/otel/trace"

	"agenthost/sessions"
)

// waitingPrompt is a prompt that has not entered the history: its turn waits for
// its start, or its text for the next model call of the active turn. One whose
// turn is queued holds a place of the host's busy turns.
type waitingPrompt struct {
	request     sessions.RequestID
	fingerprint *[32]byte         // of the request; nil for one of the last host
	turn        sessions.Turn     // that is queued, or that the text steers
	steers      bool              // it is text
	lastFrame   int64             // of the session when it was accepted
	leaving     bool              // its withdrawal is at the store
	trace       trace.SpanContext // of the first who asked; none when nobody has since the host's start
	callers     []caller
}

// join lets a caller wait for what becomes of the prompt.
func (w *waitingPrompt) join(c caller) {
	if !w.trace.IsValid() {
		w.trace = c.prompt.Trace
	}
	w.callers = joined(w.callers, c)
}

// receiveOfWaiting handles one message about prompts that wait.
func (a *agent) receiveOfWaiting(msg any) {
	switch msg := msg.(type) {
	case *textsRead:
		a.handleTextsRead(msg)
	case *startedNext:
		a.handleStarted(msg)
	case *startAgain:
		a.pausing = false
	case *withdrawn:
		a.handleWithdrawn(msg)
	case *leftBehind:
		a.handleLeftBehind(msg)
	default:
		a.receiveOfClients(msg)
	}
}

// findWaiting returns the waiting prompt of a request, nil if it has none.
func (a *agent) findWaiting(id sessions.RequestID) *waitingPrompt {
	i := slices.IndexFunc(a.waiting, func(w *waitingPrompt) bool { return w.request == id })
	if i < 0 {
		return nil
	}
	return a.waiting[i]
}

// takeWaiting is findWaiting, and the prompt waits no more. What it holds of the
// host's busy turns is the caller's then.
func (a *agent) takeWaiting(id sessions.RequestID) *waitingPrompt {
	w := a.findWaiting(id)
	if w != nil {
		a.waiting = slices.DeleteFunc(a.waiting, func(other *waitingPrompt) bool { return other == w })
	}
	return w
}

// addQueued notes a queued turn, unless it is known.
func (a *agent) addQueued(turn sessions.Turn) *waitingPrompt {
	w := a.findWaiting(turn.RequestID)
	if w == nil {
		w = &waitingPrompt{request: turn.RequestID, turn: turn}
		a.waiting = append(a.waiting, w)
		a.deps.admission.busy.Add(1) // the last host admitted it, or the turn that it was text for
	}
	return w
}

// enqueue keeps the caller of a prompt that the store has kept aside, and cuts
// the active turn if the prompt interrupts it.
func (a *agent) enqueue(msg *accepted) {
	a.learn(msg.turn.Session)
	p, turn := msg.prompt, msg.turn.Turn
	a.tellWaiting(p, turn, false, msg.turn.Session.LastFrame)
	a.tellChanged(sessions.SessionUpdated, msg.turn.Session, msg.turn.Session.LastActiveAt)
	w := a.findWaiting(p.Request.ID) // text whose turn has ended meanwhile may be queued already
	switch {
	case w == nil && msg.turn.Steers && !a.awaitsText(p, turn, false):
		return
	case w == nil:
		w = &waitingPrompt{request: p.Request.ID, turn: turn, steers: msg.turn.Steers}
		a.waiting = append(a.waiting, w)
	}
	w.fingerprint, w.lastFrame = &p.Request.Fingerprint, msg.turn.Session.LastFrame
	w.join(caller{p, false})
	switch {
	case a.run == nil:
	case w.steers:
		a.run.expectText()
	case p.Busy == sessions.BusyInterrupt:
		a.cutRun(cutCancelled)
	}
	a.tellWhoWaits()
}

// awaitsText reports whether the text of a prompt, which the store says steers a
// turn, still waits. Else the prompt waits for the end of the turn that has read
// it, or is answered with the end that it has come to.
func (a *agent) awaitsText(p *Prompt, turn sessions.Turn, duplicate bool) bool {
	if a.run != nil && a.run.turn.TurnID == turn.TurnID {
		frame, read := a.run.hasRead(p.Request.ID)
		if read {
			a.callers = joined(a.callers, a.follow(caller{p, duplicate}, turn.TurnID, frame, true))
			a.tellWhoWaits()
		}
		return !read
	}
	if a.last != nil && a.last.run.turn.TurnID == turn.TurnID {
		a.endText(caller{p, duplicate}, a.last)
	} else {
		p.refuse(errFault().With("turnId", turn.TurnID)) // the turn belongs to nobody
	}
	return false
}

// joinWaiting lets a repeated prompt wait with the one it repeats.
func (a *agent) joinWaiting(w *waitingPrompt, p *Prompt, lastFrame int64) {
	w.fingerprint, w.lastFrame = &p.Request.Fingerprint, lastFrame
	a.tellWaiting(p, w.turn, true, lastFrame)
	w.join(caller{p, true})
	a.tellWhoWaits()
}

// joinText lets a repeated prompt wait with the text it repeats, which may have
// come to the last host.
func (a *agent) joinText(p *Prompt, turn sessions.Turn, lastFrame int64) {
	w := a.findWaiting(p.Request.ID)
	if w == nil {
		if !a.awaitsText(p, turn, true) {
			a.tellAccepted(p, turn, true, lastFrame)
			return
		}
		w = &waitingPrompt{request: p.Request.ID, turn: turn, steers: true}
		a.waiting = append(a.waiting, w)
	}
	a.joinWaiting(w, p, lastFrame)
}

// handleTextsRead lets those whose text a turn has read wait for its end.
func (a *agent) handleTextsRead(msg *textsRead) {
	if a.run != msg.run {
		return
	}
	for _, id := range msg.by {
		w := a.takeWaiting(id)
		if w == nil {
			continue // its accept is on its way
		}
		frame, _ := msg.run.hasRead(id)
		for _, c := range w.callers {
			a.callers = joined(a.callers, a.follow(c, msg.run.turn.TurnID, frame, true))
		}
	}
}

// settleTexts decides, at the end of a turn, about the text that it has not read:
// the store has made queued turns of it, or ended it with the turn.
func (a *agent) settleTexts(msg *turnEnded) {
	for _, turn := range msg.queued {
		text := a.takeWaiting(turn.RequestID)
		w := a.addQueued(turn)
		if text != nil {
			a.letOut(text) // a repeat may have found the queued turn before this end was heard of
			w.fingerprint, w.trace, w.callers, w.lastFrame = text.fingerprint, text.trace, text.callers, text.lastFrame
		}
	}
	for _, w := range slices.Clone(a.waiting) {
		if !w.steers || w.leaving { // the answer to the withdrawal says what became of it
			continue
		}
		a.takeWaiting(w.request)
		for _, c := range w.callers {
			a.endText(c, msg)
		}
	}
}

// endText answers a caller with the end of the turn that its text was for.
func (a *agent) endText(c caller, end *turnEnded) {
	if last := end.reply.Turn.LastFrame; last > 0 {
		c = a.follow(c, end.reply.Turn.TurnID, last, true)
	}
	c.prompt.reply(replyTo(end.reply, c.duplicate))
}

// refuseQueued answers everyone who waits for a queued turn; their turns stay.
func (a *agent) refuseQueued(err *sessions.Error) {
	for _, w := range a.waiting {
		if !w.steers {
			w.refuse(err)
		}
	}
}

// dropWaiting answers everyone who waits, and forgets the prompts.
func (a *agent) dropWaiting(err *sessions.Error) {
	for _, w := range a.waiting {
		w.refuse(err)
		a.letOut(w)
	}
	a.waiting = nil
}

// letOut gives back what a prompt, that waits no more, holds of the busy turns.
func (a *agent) letOut(w *waitingPrompt) {
	if !w.steers {
		a.deps.admission.free()
	}
}

func (w *waitingPrompt) refuse(err *sessions.Error) {
	for _, c := range w.callers {
		c.prompt.refuse(err.With("turnId", w.turn.TurnID))
	}
	w.callers = nil
}

// follow lets a caller's stream begin at a frame of a turn, and returns the caller.
func (a *agent) follow(c caller, turn sessions.TurnID, from int64, catchUp bool) caller {
	if s := c.prompt.Stream; s != nil {
		a.deps.feed.Attach(s, a.ident.owner, a.life(), turn, from-1, catchUp)
	}
	return c
}
