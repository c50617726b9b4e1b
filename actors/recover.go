package actors

import (
	"context"

	"agenthost/sessions"
)

const (
	// recoveries is how many turns are taken up side by side at a start.
	recoveries = 32
	// maxAttempts is how often a turn is taken up after unclean stops.
	maxAttempts = 3
)

// Recover takes up the turns that the last host left unfinished. It is called
// once, before the first request, and returns when every such turn has its
// agent; the turns go on by themselves, at most 32 starting at a time. A turn that
// waits for clients has none, unless it has been answered, other prompts wait for
// its end, or its wait has a limit. A turn
// resumes from its last committed step when nothing with an unknown outcome was
// in flight, else it ends interrupted, its session promptable at once.
func (s *System) Recover(ctx context.Context) error {
	busy, err := s.deps.store.BusyTurns(ctx)
	if err != nil {
		return err
	}
	for _, msg := range bySession(busy) {
		if msg.needsAgent() {
			s.deps.send(s.deps.root, msg)
		}
	}
	s.attendChildren(busy)
	return s.Alive(ctx) // behind them in the root's mailbox
}

// bySession gathers the turns of each session, whose order stays as it is.
func bySession(busy []sessions.BusyTurn) []*resume {
	var all []*resume
	of := map[sessions.Incarnation]*resume{}
	for _, b := range busy {
		msg := of[b.Session.Fence.Incarnation]
		if msg == nil {
			msg = &resume{session: b.Session}
			of[b.Session.Fence.Incarnation] = msg
			all = append(all, msg)
		}
		switch {
		case b.Turn.Status != sessions.TurnIsQueued:
			msg.active = &b.Turn
			msg.fresh = b.Turn.Status == sessions.TurnIsRunning || len(b.Session.Pending) == 0
		default:
			msg.queued = append(msg.queued, b.Turn)
			msg.interrupts = msg.interrupts || b.Interrupts
		}
	}
	return all
}

// needsAgent reports whether something is to be done before anyone comes for the
// session.
func (m *resume) needsAgent() bool {
	return m.fresh || len(m.queued) > 0 || m.active.Limits.WaitTimeoutMs > 0
}

// takeUp goes on with a turn of the last host. A cut waits until it is known
// where the turn stood: before, it could not make the history whole.
func (r *run) takeUp() {
	r.texts = true // which came to the last host
	r.commits.Lock()
	r.goOn(func(life context.Context) {
		planned, err := r.takeStock(life)
		if err == nil {
			err = r.countAttempt(life)
		}
		if err != nil {
			r.cut(life, cutting{status: endOf(err), err: err, notRun: "the host stopped"})
			return
		}
		if r.turn.Status == sessions.TurnIsWaiting {
			if r.untilAnswered(life) {
				r.loop(life)
			}
			return
		}
		if len(planned) > 0 && !r.finishCalls(life, planned) {
			return
		}
		r.loop(life)
	})
}

// endOf is how a turn ends that cannot be taken up.
func endOf(err *sessions.Error) sessions.TurnStatus {
	if err.Code == sessions.CodeHostRestarted {
		return sessions.TurnIsInterrupted
	}
	return sessions.TurnIsFailed
}

// takeStock finds where the turn stood and puts r.step there. It returns the
// calls to run first, or why the turn cannot go on. It gives up r.commits, which
// takeUp holds for it.
func (r *run) takeStock(life context.Context) ([]plannedCall, *sessions.Error) {
	defer r.commits.Unlock()
	select {
	case r.deps.recovery <- struct{}{}:
		defer func() { <-r.deps.recovery }()
	case <-r.ctx.Done():
		return nil, errRestarted() // abandoned; nothing is stored
	}
	if err := r.load(life); err != nil {
		return nil, sessions.AsError(err)
	}
	if err := r.prepareClients(); err != nil {
		return nil, sessions.AsError(err)
	}
	var rest *leftovers
	err := r.read(life, func() (err error) {
		rest, err = r.deps.leftOf(life, r.fence.Incarnation, r.turn)
		return err
	})
	if err != nil {
		return nil, sessions.AsError(err)
	}
	planned, certain := r.restore(rest)
	waits := r.turn.Status == sessions.TurnIsWaiting
	if !certain || r.profile.Oracle == nil && !waits {
		return nil, errRestarted()
	}
	if !waits { // else its clock stands still
		r.away = max(0, r.deps.nowMs().Sub(rest.lastAt))
		r.limitTime(usedAt(r.turn, rest.lastAt))
	}
	return planned, nil
}

// countAttempt makes the try durable before it is made. Stops that were clean
// do not count. A turn that waits does it when it goes on.
func (r *run) countAttempt(life context.Context) *sessions.Error {
	resume := &sessions.TurnResume{Attempts: r.turn.Attempts + r.tries}
	if resume.Attempts > maxAttempts {
		return errCrashLoop()
	}
	if r.turn.Status == sessions.TurnIsWaiting {
		r.wait.resume = resume
		return nil
	}
	resume.AwayMs = r.away.Milliseconds()
	err := r.persist(life, func(c *sessions.CommitTurn) func() {
		c.Resume = resume
		return func() {}
	})
	if err != nil {
		return errRestarted() // cut meanwhile; that end stands
	}
	return nil
}

// restore puts the run where the turn stood: behind its last model answer, with
// the results that its calls gave. certain is false when a call is without a
// result whose tool may not be run twice, or not at all any more.
func (r *run) restore(rest *leftovers) (planned []plannedCall, certain bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.history {
		if m.Role == sessions.RoleAssistant && m.TurnID == r.turn.TurnID && !m.Interrupted {
			r.iterations++
			r.textBytes += int64(len(sessions.TextOf(m.Content)))
		}
	}
	r.summaries, r.lastFrame = rest.summaries, rest.lastFrame
	open := sessions.OpenCalls(r.history)
	if r.turn.Status == sessions.TurnIsWaiting {
		r.wait = &clientWait{pending: rest.waits.Pending, answers: rest.waits.Answers}
	}
	if len(open) == 0 {
		r.attempt = rest.attempt + 1
		r.step = step{number: r.iterations + 1, attempt: r.attempt, counted: true, kept: len(rest.text)}
		r.step.text.Write(rest.text)
		return nil, true
	}
	s := step{number: r.iterations, attempt: 1, calls: open, answered: true, appended: true, started: true, counted: true}
	s.results = make([]*callResult, len(open))
	certain = true
	for i, c := range open {
		p := plannedCall{call: c, refusal: errNotRun("its result is known")}
		s.results[i] = rest.results[c.ID]
		switch kind := kindOf(rest.waits.Pending, c.ID); {
		case s.results[i] != nil:
		case r.wait != nil:
			s.ask(i, kind)
			certain = certain && kind != ""
		default:
			p = r.planCall(c)
			if rest.asked[c.ID] { // and the turn ran, so it was approved
				p.approve()
			}
			s.ask(i, p.asks)
			certain = certain && p.refusal == nil && (p.asks != "" || r.profile.repeatable(p.tool))
		}
		planned = append(planned, p)
	}
	r.step = s
	return planned, certain
}

// leftovers is what a turn had made durable beyond the history.
type leftovers struct {
	results   map[sessions.CallID]*callResult
	text      []byte                   // of a model call that was not finished
	attempt   int                      // the number of that call among its repetitions
	lastAt    sessions.Time            // when the turn last made something durable
	lastFrame int64                    // the seq of its last frame
	asked     map[sessions.CallID]bool // calls that clients were asked about
	waits     sessions.WaitedCalls     // of a turn that waits
	summaries int                      // that were made for that call
}

// leftOf collects what the frames of a turn tell beyond its messages.
func (d *deps) leftOf(ctx context.Context, life sessions.Incarnation, turn sessions.Turn) (*leftovers, error) {
	l := &leftovers{results: map[sessions.CallID]*callResult{}, asked: map[sessions.CallID]bool{}, lastAt: max(turn.StartedAt, turn.ResumedAt)}
	if turn.Status == sessions.TurnIsWaiting {
		var err error
		if l.waits, err = d.store.WaitedCalls(ctx, life, turn.TurnID); err != nil {
			return nil, err
		}
	}
	for after := max(0, turn.FirstFrame-1); ; {
		frames, err := d.store.Frames(ctx, life, sessions.FrameQuery{AfterSeq: after, Limit: 1000})
		if err != nil {
			return nil, err
		}
		for _, f := range frames.Frames {
			after = f.Seq
			if f.TurnID == turn.TurnID {
				l.lastAt, l.lastFrame = max(l.lastAt, f.At), f.Seq
				l.take(f.Body)
			}
		}
		if !frames.HasMore {
			return l, nil
		}
	}
}

func (l *leftovers) take(body sessions.FrameBody) {
	switch body := body.(type) {
	case sessions.TextPart:
		if body.Attempt != l.attempt {
			l.text, l.attempt = nil, body.Attempt
		}
		l.text = append(l.text[:min(body.Offset, int64(len(l.text)))], body.Text...)
	case sessions.MessageAppended:
		l.text, l.attempt = nil, 0
		if body.Message.Role == sessions.RoleAssistant {
			l.summaries = 0
		}
	case sessions.Waiting:
		for _, p := range body.Pending {
			l.asked[p.CallID] = true
		}
	case sessions.Summarised:
		l.summaries = body.Attempt
	case sessions.CallEnded:
		l.results[body.CallID] = &callResult{output: body.Output, err: body.Error, framed: true}
	}
}
