package actors

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"agenthost/sessions"
)

// How long a run waits before it tries a commit again that the store could not take.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 2 * time.Second
)

// commit begins a CommitTurn with what every commit of the run carries. r.mu is held.
func (r *run) commit() sessions.CommitTurn {
	return sessions.CommitTurn{
		Fence: r.fence, TurnID: r.turn.TurnID, RequestID: r.turn.RequestID,
		Usage: r.usage, Model: r.profile.model, Iterations: r.iterations, Now: r.deps.nowMs(),
	}
}

// keepText makes streamed text durable in the middle of a model call.
func (r *run) keepText(life context.Context) {
	_ = r.persist(life, func(c *sessions.CommitTurn) func() {
		s := &r.step
		frame := s.textFrame()
		if frame == nil || s.appended {
			return nil
		}
		c.Frames = append(c.Frames, frame)
		upTo := s.text.Len()
		s.flush = nil // the next text starts the next period
		return func() { s.kept = max(s.kept, upTo) }
	})
}

// appendAnswer makes the model's answer part of the history, before its calls run.
func (r *run) appendAnswer(life context.Context) error {
	return r.persist(life, func(c *sessions.CommitTurn) func() {
		r.addAnswer(c, false)
		return func() { r.step.appended = true }
	})
}

// appendResults makes the results of a step's calls part of the history, and what
// the calls have set the session's state.
func (r *run) appendResults(life context.Context) error {
	return r.persist(life, func(c *sessions.CommitTurn) func() {
		c.State = r.step.state()
		r.addResults(c)
		r.texts, c.Steer = false, true
		return func() { r.step = step{appended: true} }
	})
}

// keepResult makes the results that have come durable as frames, unless they
// are the last ones: then the step's end carries them.
func (r *run) keepResult(life context.Context) {
	_ = r.persist(life, func(c *sessions.CommitTurn) func() {
		if !slices.Contains(r.step.results, nil) {
			return nil
		}
		frames, of := r.step.unframed(true)
		if len(frames) == 0 {
			return nil
		}
		c.Frames = frames
		return func() {
			for _, res := range of {
				res.framed = true
			}
		}
	})
}

// addAnswer adds the step's answer, with the frames that show it. r.mu is held.
func (r *run) addAnswer(c *sessions.CommitTurn, interrupted bool) {
	s := &r.step
	if frame := s.textFrame(); frame != nil {
		c.Frames = append(c.Frames, frame)
	}
	m := s.answer()
	m.Interrupted = interrupted
	r.addMessage(c, m)
	c.Frames = append(c.Frames,
		sessions.UsageReported{Usage: s.usage},
		sessions.MessageAppended{Message: c.Messages[len(c.Messages)-1]})
	for _, call := range s.calls {
		c.Frames = append(c.Frames, sessions.CallStarted{Call: call})
	}
}

// addResults adds a message for each of the step's calls, in call order, and
// the frames of those that have none yet. Every call has a result. r.mu is held.
func (r *run) addResults(c *sessions.CommitTurn) {
	frames, _ := r.step.unframed(false)
	c.Frames = append(c.Frames, frames...)
	for i, res := range r.step.results {
		r.addMessage(c, res.message(r.step.calls[i].ID))
	}
}

func (r *run) addMessage(c *sessions.CommitTurn, m sessions.Message) {
	m.Seq = int64(len(r.history) + len(c.Messages) + 1)
	m.TurnID, m.CreatedAt = r.turn.TurnID, c.Now
	c.Messages = append(c.Messages, m)
}

// persist stores what build finds there is to store, then publishes it. build
// runs under r.mu, returns nil when there is nothing, else what to record once
// it is stored. While the store cannot take the commit it is tried again, each
// time as build then finds it, until the turn ends otherwise: errRunEnded.
func (r *run) persist(life context.Context, build func(*sessions.CommitTurn) func()) error {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		again, err := r.tryPersist(life, build)
		if !again {
			return err
		}
		if wait == firstRetry {
			r.deps.send(r.agent, &unstored{r, sessions.AsError(err)})
		}
		select {
		case <-time.After(wait):
		case <-r.ctx.Done():
			return errRunEnded
		}
	}
}

// tryPersist makes one attempt of persist and says whether to make another.
func (r *run) tryPersist(life context.Context, build func(*sessions.CommitTurn) func()) (again bool, err error) {
	r.commits.Lock()
	defer r.commits.Unlock()
	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		return false, errRunEnded
	}
	c := r.commit()
	stored := build(&c)
	r.mu.Unlock()
	if stored == nil {
		return false, nil
	}
	done, err := r.deps.store.CommitTurn(life, c)
	if err != nil {
		return r.notStored(err)
	}
	r.mu.Lock()
	r.fence, r.stored = done.Session.Fence, done.Turn
	r.noteFrames(done.Frames)
	r.history = append(append(r.history, c.Messages...), done.Steered...)
	r.usage = r.usage.Minus(c.Usage) // a model call may have ended meanwhile
	r.noteRead(done)
	stored()
	r.mu.Unlock()
	r.deps.feed.Publish(done.Session.Fence.Incarnation, done.Frames...)
	if len(done.SteeredBy) > 0 {
		r.deps.send(r.agent, &textsRead{r, done.SteeredBy})
	}
	return false, nil
}

// settleFence lets a commit of the run, which may have raised the epoch and so be
// why the store has refused another write with err, take effect here too. A nil
// run has none.
func (r *run) settleFence(err error) {
	if r == nil || !errors.Is(err, sessions.ErrFenced) {
		return
	}
	r.commits.Lock()
	defer r.commits.Unlock()
}

// logRefused tells of a write that the store will never take. That of a life that
// is over is how a delete ends a turn, and no fault.
func (r *run) logRefused(what string, err error) {
	level := slog.LevelError
	if errors.Is(err, sessions.ErrFenced) {
		level = slog.LevelDebug
	}
	r.deps.log.Log(r.deps.lifetime, level, what, r.named("error", err)...)
}

// notStored sorts the errors of a commit: those that may pass, those that say
// the turn is not this run's any more, and those for which it must fail.
func (r *run) notStored(err error) (again bool, _ error) {
	if mayPass(err) {
		return true, err
	}
	r.logRefused("step refused by the store", err)
	if sessions.CodeOf(err) != sessions.CodeConflict {
		return false, err
	}
	r.lose()
	return false, errRunEnded
}

// mayPass reports whether a commit that failed with err is worth another try.
func mayPass(err error) bool {
	code := sessions.CodeOf(err)
	return code == sessions.CodeStoreUnavailable || code == sessions.CodeOverloaded
}
