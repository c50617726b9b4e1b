package actors

import (
	"context"
	"maps"
	"time"

	"agenthost/sessions"
	"agenthost/tools"
)

// clientWait is what a turn waits for. run.mu guards it.
type clientWait struct {
	pending []sessions.Pending // answered or not, in call order
	answers map[sessions.CallID]sessions.CallAnswer
	resume  *sessions.TurnResume // for the first write of a run that has taken the turn up
}

// open are the calls that are not answered.
func (w *clientWait) open() []sessions.Pending {
	open := []sessions.Pending{}
	for _, p := range w.pending {
		if _, answered := w.answers[p.CallID]; !answered {
			open = append(open, p)
		}
	}
	return open
}

// kindOf is what a call waits for, "" for nothing.
func kindOf(pending []sessions.Pending, id sessions.CallID) sessions.PendingKind {
	for _, p := range pending {
		if p.CallID == id {
			return p.Kind
		}
	}
	return ""
}

// prepareClients makes the turn's tools that clients run callable.
func (r *run) prepareClients() (err error) {
	r.clients, err = tools.ClientTools("", r.turn.Inference.ClientTools)
	for _, m := range r.clients {
		if other := r.deps.tree.Clash(m); other != nil {
			r.deps.log.Warn("a client's tool hides a mounted one", r.named("path", m.Path, "mounted", other.Path)...)
		}
	}
	return err
}

// clientTool returns the turn's own tool at a path, which a client runs.
func (r *run) clientTool(path string) (*tools.Mounted, bool) {
	for _, m := range r.clients {
		if m.Path == path {
			return m, true
		}
	}
	return nil, false
}

// askClients makes the turn wait for clients to answer the calls of its step that
// have no result, and reports whether it goes on.
func (r *run) askClients(life context.Context) bool {
	err := r.persist(life, func(c *sessions.CommitTurn) func() {
		c.State, c.Wait = r.step.state(), r.step.pending(c.Now)
		frames, of := r.step.unframed(false)
		c.Frames = append(c.Frames, frames...)
		return func() {
			for _, res := range of {
				res.framed = true
			}
			r.step.keepState()
			r.wait = &clientWait{pending: c.Wait, answers: map[sessions.CallID]sessions.CallAnswer{}}
			r.freePlace()
		}
	})
	if err != nil {
		r.cut(life, cutFailed(sessions.AsError(err)))
		return false
	}
	return r.untilAnswered(life)
}

// untilAnswered waits until every call is answered, and goes on with the turn. Its
// clock stands still meanwhile.
func (r *run) untilAnswered(life context.Context) bool {
	if r.timer != nil {
		r.timer.Stop()
	}
	r.watch.event(eventWaits)
	r.deps.send(r.agent, &turnWaits{r})
	r.mu.Lock()
	since, used := r.stored.WaitingSince, usedAt(r.stored, r.stored.WaitingSince)
	r.mu.Unlock()
	if !r.awaitAnswers(life, since) {
		return false
	}
	if r.profile.Oracle == nil { // it began under another configuration
		r.cut(life, cutFailed(sessions.UnknownProfile(r.ident.profile)))
		return false
	}
	r.watch.event(eventGoesOn)
	r.limitTime(used)
	return r.goOnAnswered(life)
}

// usedAt is what of its running time a turn had used at a moment.
func usedAt(turn sessions.Turn, at sessions.Time) time.Duration {
	return at.Sub(turn.StartedAt) - time.Duration(turn.WaitedMs)*time.Millisecond
}

// awaitAnswers waits until every call is answered, and reports whether it is.
func (r *run) awaitAnswers(life context.Context, since sessions.Time) bool {
	var over <-chan time.Time
	limit := r.turn.Limits.WaitTimeoutMs
	if limit > 0 {
		timer := time.NewTimer(time.Duration(limit)*time.Millisecond - r.deps.nowMs().Sub(since))
		defer timer.Stop()
		over = timer.C
	}
	for r.openCalls() > 0 {
		select {
		case <-r.news:
		case <-r.ctx.Done():
			return false
		case <-over:
			return !r.giveUpWait(life, limit)
		}
	}
	return true
}

// giveUpWait ends the turn because its wait has reached the limit, and reports
// whether it did: a wait that is answered by now is over.
func (r *run) giveUpWait(life context.Context, limit int64) bool {
	r.commits.Lock() // an answer is before the end, or is refused by it
	defer r.commits.Unlock()
	if r.openCalls() == 0 {
		return false
	}
	r.end(life, cutFailed(errWaitTimeout(limit)))
	return true
}

// goOnAnswered lets the turn run again: first the calls that were approved, of which
// clients run some themselves, then the next model call.
func (r *run) goOnAnswered(life context.Context) bool {
	planned := r.planApproved()
	if planned == nil {
		return r.endStep(life, r.persist(life, func(c *sessions.CommitTurn) func() {
			stored := r.addGoOn(c)
			r.addResults(c)
			r.texts, c.Steer = false, true
			return func() {
				stored()
				r.step = step{appended: true}
			}
		}))
	}
	err := r.persist(life, func(c *sessions.CommitTurn) func() {
		stored := r.addGoOn(c)
		frames, of := r.step.unframed(false)
		c.Frames = append(c.Frames, frames...)
		return func() {
			stored()
			for _, res := range of {
				res.framed = true
			}
			r.step.asks = nil
			for i, p := range planned {
				r.step.ask(i, p.asks)
			}
		}
	})
	if err != nil {
		r.cut(life, cutFailed(sessions.AsError(err)))
		return false
	}
	return r.finishCalls(life, planned)
}

// addGoOn makes a commit one that ends the wait. r.mu is held, also when what it
// returns is called.
func (r *run) addGoOn(c *sessions.CommitTurn) (stored func()) {
	c.GoOn, c.Resume = true, r.wait.resume
	return func() {
		r.wait = nil
		if !r.place && !r.abandoned { // else the agent has settled the run's place
			r.place = true
			r.deps.admission.busy.Add(1)
		}
	}
}

// planApproved makes results of the answers, and returns the step's calls with
// those to be run; nil when none is.
func (r *run) planApproved() (planned []plannedCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takeAnswers()
	all, runs := make([]plannedCall, len(r.step.calls)), false
	for i, c := range r.step.calls {
		all[i] = plannedCall{call: c, refusal: errNotRun("its result is known")}
		if r.step.results[i] != nil {
			continue
		}
		p := r.planCall(c)
		p.approve()
		if r.step.results[i] = p.result(); p.refusal == nil {
			all[i], runs = p, true
		}
	}
	if !runs {
		return nil
	}
	return all
}

// takeAnswers makes results of the answers there are; a call that is approved has
// none yet. r.mu is held.
func (r *run) takeAnswers() {
	if r.wait == nil {
		return
	}
	now := r.deps.nowMs()
	for i, c := range r.step.calls {
		given, ok := r.wait.answers[c.ID]
		if !ok || i >= len(r.step.results) || r.step.results[i] != nil {
			continue
		}
		if res := r.answerResult(c.Path, given); res != nil {
			for _, p := range r.wait.pending {
				if p.CallID == c.ID {
					res.took = now.Sub(p.Since)
				}
			}
			r.step.results[i] = res
		}
	}
}

// answerResult is the result of a call that a client has answered; nil when it is
// approved.
func (r *run) answerResult(path string, given sessions.CallAnswer) *callResult {
	limit := r.deps.limits.ToolResultBytes
	switch {
	case given.Approve != nil && *given.Approve:
		return nil
	case given.Approve != nil:
		return &callResult{err: errDeclined(path).Info()}
	case given.Error != nil && int64(len(*given.Error)) > limit:
		return &callResult{err: errToolTooLarge(len(*given.Error), limit).Info()}
	case given.Error != nil:
		return &callResult{err: errTool(path, "%s", *given.Error).Info()}
	case int64(len(given.Output)) > limit:
		return &callResult{err: errToolTooLarge(len(given.Output), limit).Info()}
	default:
		return &callResult{output: given.Output}
	}
}

// answerCalls stores answers to calls of the turn, and lets the turn go on when no
// call waits any more.
func (r *run) answerCalls(ctx context.Context, cmd sessions.AnswerCalls) (sessions.AnsweredCalls, error) {
	r.commits.Lock()
	defer r.commits.Unlock()
	done, err := r.deps.store.AnswerCalls(ctx, cmd)
	if err != nil {
		return done, err
	}
	stored := cmd.Answers
	if done.Claimed { // what was claimed may have been for another wait of the calls
		if stored, err = r.storedAnswers(ctx); err != nil {
			return done, err
		}
	}
	r.mu.Lock()
	for _, g := range stored {
		r.noteAnswer(g)
	}
	r.noteFrames(done.Frames)
	r.mu.Unlock()
	r.deps.feed.Publish(done.Session.Fence.Incarnation, done.Frames...)
	select {
	case r.news <- struct{}{}:
	default:
	}
	return done, nil
}

// noteFrames remembers the last of a turn's frames that are stored. r.mu is held.
func (r *run) noteFrames(frames []sessions.Frame) {
	if n := len(frames); n > 0 {
		r.lastFrame = frames[n-1].Seq
	}
}

// storedAnswers are those to calls that the turn waits for, in call order.
func (r *run) storedAnswers(ctx context.Context) (given []sessions.GivenAnswer, err error) {
	waited, err := r.deps.store.WaitedCalls(ctx, r.ident.life, r.turn.TurnID)
	for _, p := range waited.Pending {
		if answer, ok := waited.Answers[p.CallID]; ok {
			given = append(given, sessions.GivenAnswer{CallID: p.CallID, Answer: answer})
		}
	}
	return given, err
}

// noteAnswer takes over an answer that is stored, unless the run has it already. A
// repeat counts too: the answer before may have been stored without this run hearing
// of it. r.mu is held.
func (r *run) noteAnswer(g sessions.GivenAnswer) {
	kind := r.kindWaited(g.CallID)
	if kind == "" || !g.Answer.Answers(kind) {
		return
	}
	if _, known := r.wait.answers[g.CallID]; known {
		return
	}
	answers := maps.Clone(r.wait.answers)
	if answers == nil {
		answers = map[sessions.CallID]sessions.CallAnswer{}
	}
	answers[g.CallID] = g.Answer
	r.wait.answers = answers
}

// kindWaited is what a call of the turn waits for, "" for nothing. r.mu is held.
func (r *run) kindWaited(id sessions.CallID) sessions.PendingKind {
	if r.wait == nil {
		return ""
	}
	return kindOf(r.wait.pending, id)
}

// openCalls counts the calls that are not answered.
func (r *run) openCalls() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wait == nil {
		return 0
	}
	return len(r.wait.open())
}

// waitsFor returns the turn, up to its own last frame, and the calls that it
// waits for; ok is false when it waits for none.
func (r *run) waitsFor() (turn sessions.Turn, open []sessions.Pending, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wait == nil || r.ended {
		return turn, nil, false
	}
	open = r.wait.open()
	turn = r.stored
	turn.LastFrame = r.lastFrame
	return turn, open, len(open) > 0
}

// parked reports whether the turn waits, so that all there is to know of it is in
// the store.
func (r *run) parked() bool {
	_, _, ok := r.waitsFor()
	return ok
}

// givePlace gives back the run's place among the host's busy turns.
func (r *run) givePlace() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.freePlace()
}

// freePlace is givePlace for who holds r.mu.
func (r *run) freePlace() {
	if r.place {
		r.place = false
		r.deps.admission.free()
	}
}
