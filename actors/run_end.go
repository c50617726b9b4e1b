package actors

import (
	"context"
	"time"

	"agenthost/sessions"
)

// cutting says how a run ends.
type cutting struct {
	status sessions.TurnStatus
	err    *sessions.Error // nil for completed and cancelled
	notRun string          // why calls that have not begun are not run
	// detached leaves the session idle whatever the status.
	detached bool
}

var cutCancelled = cutting{status: sessions.TurnIsCancelled, notRun: "the turn was cancelled"}

// cutDetached ends a turn because its session is freed from it.
var cutDetached = cutting{
	status: sessions.TurnIsInterrupted, detached: true, notRun: "the session was detached from the turn",
	err: sessions.Errorf(sessions.CodeCancelled, "The session was detached from the turn."),
}

// cause is what models and tools find as the cause of their end.
func (c cutting) cause(id sessions.TurnID) error {
	switch {
	case c.err != nil:
		return c.err
	case c.status == sessions.TurnIsCancelled:
		return errCancelled(id)
	default:
		return nil
	}
}

func cutFailed(err *sessions.Error) cutting {
	return cutting{status: sessions.TurnIsFailed, err: err, notRun: "the turn failed"}
}

// lose ends a run whose turn the store does not let it write to.
func (r *run) lose() {
	r.mu.Lock()
	was := r.ended
	r.ended = true
	r.mu.Unlock()
	r.cancel(errDeleted())
	if was {
		return
	}
	r.watch.end("", errDeleted())
	r.deps.send(r.agent, &turnEnded{run: r, reply: PromptReply{SessionID: r.ident.id, Turn: r.turn, Err: withTurn(errDeleted(), r)}})
}

// cut ends the turn as how says, unless it has ended already: the model call
// and the tools are cancelled, what there is of the step is kept, and the agent
// hears of the end once it is stored.
func (r *run) cut(life context.Context, how cutting) {
	r.commits.Lock()
	defer r.commits.Unlock()
	r.end(life, how)
}

// end is cut for who holds r.commits.
func (r *run) end(life context.Context, how cutting) {
	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		return
	}
	r.ended = true
	c := r.endCommit(how)
	r.mu.Unlock()
	why := how.cause(r.turn.TurnID)
	r.cancel(why)
	if how.status == sessions.TurnIsCancelled || how.detached {
		r.beside.stop(why)
	}
	r.storeEnd(life, c, how)
}

// endCommit is the last commit of the turn: what the step has made so far in
// such a form that every call has its one result. r.mu is held.
func (r *run) endCommit(how cutting) sessions.CommitTurn {
	r.countCall()
	r.countSummary()
	c := r.commit()
	s := &r.step
	end := &sessions.TurnEnd{Status: how.status, Error: how.err.Info(), ClaimTTLMs: r.deps.dedupTTL.Milliseconds(), Detached: how.detached}
	c.End = end
	if !s.answered {
		s.calls, s.results = nil, nil // not all of them had come
	}
	if !s.appended && (s.answered || s.text.Len() > 0) {
		r.addAnswer(&c, !s.answered)
		if len(s.calls) == 0 && s.answered {
			end.FinalSeq = c.Messages[0].Seq
		}
	}
	r.takeAnswers()
	if s.started {
		s.fillAsked(errNotRun(how.notRun))
		s.fill(sessions.ErrCallCut)
		s.dropState()
	} else {
		s.fill(errNotRun(how.notRun))
	}
	r.addResults(&c)
	return c
}

// storeEnd stores the end, trying the same again for as long as the store
// cannot take it, and tells the agent.
func (r *run) storeEnd(life context.Context, c sessions.CommitTurn, how cutting) {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		done, err := r.deps.store.CommitTurn(life, c)
		if err == nil {
			r.publishEnd(c, done, how)
			return
		}
		if !mayPass(err) {
			r.logRefused("turn end refused by the store", err)
			refusal := sessions.AsError(err)
			if refusal.Code == sessions.CodeConflict {
				refusal = errDeleted()
			}
			r.watch.end("", refusal)
			r.deps.send(r.agent, &turnEnded{run: r, reply: PromptReply{SessionID: r.ident.id, Turn: r.turn, Err: withTurn(refusal, r)}})
			return
		}
		if wait == firstRetry {
			r.deps.send(r.agent, &unstored{r, sessions.AsError(err)})
		}
		select {
		case <-time.After(wait):
		case <-r.over:
			return
		case <-life.Done():
			r.watch.end("", errStopping())
			return
		}
	}
}

func (r *run) publishEnd(c sessions.CommitTurn, done sessions.CommittedTurn, how cutting) {
	r.mu.Lock()
	r.history = append(r.history, c.Messages...)
	r.fence = done.Session.Fence
	r.step.appended = true
	r.mu.Unlock()
	r.watch.end(how.status, how.err)
	r.deps.feed.Publish(done.Session.Fence.Incarnation, done.Frames...)
	r.deps.feed.Tell(done.Session.Owner, c.Now, sessions.SessionChanged{
		Change: sessions.SessionUpdated, SessionID: done.Session.ID, Status: done.Session.Status,
	})
	r.deps.send(r.agent, &turnEnded{r, r.endReply(c, done, how), done.Queued})
}

// endReply is what the callers of the turn are told.
func (r *run) endReply(c sessions.CommitTurn, done sessions.CommittedTurn, how cutting) PromptReply {
	turn := r.turn
	turn.Status, turn.EndedAt, turn.Iterations = how.status, c.Now, c.Iterations
	turn.Error = c.End.Error
	turn.Usage, turn.LastFrame, turn.FinalSeq = done.Turn.Usage, done.Session.LastFrame, c.End.FinalSeq
	reply := PromptReply{SessionID: r.ident.id, Turn: turn}
	if c.End.FinalSeq > 0 {
		final := c.Messages[0]
		reply.Final = &final
	}
	switch {
	case how.err != nil:
		reply.Err = how.err.With("turnId", turn.TurnID)
	case how.status == sessions.TurnIsCancelled:
		reply.Err = errCancelled(turn.TurnID)
	}
	return reply
}
