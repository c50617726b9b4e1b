package actors

import (
	"context"

	"agenthost/sessions"
)

// breakDown is what is left to do after a panic: answer everyone, end the turn,
// and leave. during is the message that was being handled.
func (a *agent) breakDown(during any) {
	a.defunct = true
	a.breakOff(during)
	a.breakOff(a.late)
	a.late = nil
	leaves := len(a.waiting) > 0
	a.refuseCallers(errFault())
	a.dropWaiting(errFault())
	a.asides.end(errFault())
	if r := a.run; r != nil {
		a.deps.background(func(ctx context.Context) { r.cut(ctx, cutFailed(errFault())) })
	}
	a.proposeIdle()
	if leaves {
		a.leaveBehind()
	}
	a.deps.send(a.self, &brokeDown{})
}

// breakOff is breakDown for one message that was being handled.
func (a *agent) breakOff(during any) {
	switch msg := during.(type) {
	case request:
		msg.refuse(errFault())
	case *closedSession:
		msg.request.refuse(errFault())
	case *detachedSession:
		msg.request.refuse(errFault())
	case *answeredCalls:
		msg.request.refuse(errFault())
	case *accepted:
		a.breakAccept(msg)
	case *startedNext:
		if msg.found {
			a.breakStart(msg.turn)
		}
	case *withdrawn:
		if msg.cancel != nil {
			msg.cancel.refuse(errFault())
		}
	case *turnEnded:
		if a.run != nil && a.run == msg.run {
			a.run.givePlace()
			a.run = nil
		}
	}
}

// breakStart is beginQueued for an agent that breaks down: the turn is the agent's
// to end.
func (a *agent) breakStart(started sessions.AcceptedTurn) {
	if a.run == nil {
		w := a.addQueued(started.Turn)
		a.adopt(started, nil, w.trace, w.callers)
	}
	a.takeWaiting(started.Turn.RequestID)
}

// breakAccept does the same for a prompt that the store has accepted.
func (a *agent) breakAccept(msg *accepted) {
	msg.prompt.refuse(errFault())
	switch {
	case msg.err != nil || msg.turn.Duplicate || msg.turn.Steers:
	case msg.starts() && a.run == nil:
		a.adopt(msg.turn, nil, msg.prompt.Trace, nil)
	case !msg.starts() && a.findWaiting(msg.prompt.Request.ID) == nil:
		a.waiting = append(a.waiting, &waitingPrompt{request: msg.prompt.Request.ID, turn: msg.turn.Turn})
	}
}
