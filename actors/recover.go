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
// agent; the turns go on by themselves, at most 32 starting at a time. A turn
// resumes from its last committed step when nothing with an unknown outcome was
// in flight, else it ends interrupted, its session promptable at once.
func (s *System) Recover(ctx context.Context) error {
	busy, err := s.deps.store.BusyTurns(ctx)
	if err != nil {
		return err
	}
	for _, msg := range bySession(busy) {
		s.deps.send(s.deps.root, msg)
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
		default:
			msg.queued = append(msg.queued, b.Turn)
			msg.interrupts = msg.interrupts || b.Interrupts
		}
	}
	return all
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
	var rest *leftovers
	err := r.read(life, func() (err error) {
		rest, err = r.deps.leftOf(life, r.fence.Incarnation, r.turn)
		return err
	})
	if err != nil {
		return nil, sessions.AsError(err)
	}
	planned, certain := r.restore(rest)
	if !certain || r.profile.Oracle == nil {
		return nil, errRestarted()
	}
	r.limitTime(rest.lastAt.Sub(r.turn.StartedAt))
	return planned, nil
}

// countAttempt makes the try durable before it is made. Stops that were clean
// do not count.
func (r *run) countAttempt(life context.Context) *sessions.Error {
	attempts := r.turn.Attempts
	if !r.deps.clean {
		attempts++
	}
	if attempts > maxAttempts {
		return errCrashLoop()
	}
	err := r.persist(life, func(c *sessions.CommitTurn) func() {
		c.Resume = &sessions.TurnResume{Attempts: attempts}
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
	open := sessions.OpenCalls(r.history)
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
		p := plannedCall{call: c}
		if s.results[i] = rest.results[c.ID]; s.results[i] == nil {
			p = r.planCall(c)
			certain = certain && p.refusal == nil && r.profile.repeatable(p.tool)
		} else {
			p.refusal = errNotRun("its result is known")
		}
		planned = append(planned, p)
	}
	r.step = s
	return planned, certain
}

// leftovers is what a turn had made durable beyond the history.
type leftovers struct {
	results map[sessions.CallID]*callResult
	text    []byte        // of a model call that was not finished
	attempt int           // the number of that call among its repetitions
	lastAt  sessions.Time // when the turn last made something durable
}

// leftOf collects what the frames of a turn tell beyond its messages.
func (d *deps) leftOf(ctx context.Context, life sessions.Incarnation, turn sessions.Turn) (*leftovers, error) {
	l := &leftovers{results: map[sessions.CallID]*callResult{}, lastAt: turn.StartedAt}
	for after := max(0, turn.FirstFrame-1); ; {
		frames, err := d.store.Frames(ctx, life, sessions.FrameQuery{AfterSeq: after, Limit: 1000})
		if err != nil {
			return nil, err
		}
		for _, f := range frames.Frames {
			after = f.Seq
			if f.TurnID == turn.TurnID {
				l.lastAt = max(l.lastAt, f.At)
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
	case sessions.CallEnded:
		l.results[body.CallID] = &callResult{output: body.Output, err: body.Error, framed: true}
	}
}
