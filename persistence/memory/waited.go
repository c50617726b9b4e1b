package memory

import (
	"context"
	"slices"

	"agenthost/sessions"
)

// AnswerCalls stores a client's answers to calls; see the port.
func (s *Store) AnswerCalls(ctx context.Context, c sessions.AnswerCalls) (sessions.AnsweredCalls, error) {
	digests := c.Digests()
	return write(ctx, s, func() (sessions.AnsweredCalls, error) {
		claimed, err := s.repeated(c.Owner, c.Request, c.Now, true)
		r := s.find(c.Owner, c.At)
		switch {
		case err != nil:
			return sessions.AnsweredCalls{}, err
		case claimed != nil:
			return sessions.AnsweredCalls{Session: copySession(s.lives[claimed.life].session), TurnID: claimed.turnID, Repeat: true, Claimed: true}, nil
		case r == nil:
			return sessions.AnsweredCalls{}, sessions.ErrNoSession
		case r.session.Status == sessions.StatusClosed:
			return sessions.AnsweredCalls{}, sessions.ErrSessionClosed
		}
		if err := c.Agree(digests); err != nil {
			return sessions.AnsweredCalls{}, err
		}
		calls := make([]*waitedCall, len(c.Answers))
		for i, g := range c.Answers {
			w, err := r.findWaited(g)
			switch {
			case err != nil:
				return sessions.AnsweredCalls{}, err
			case w.answered && w.digest != digests[i]:
				return sessions.AnsweredCalls{}, sessions.ErrOtherAnswer
			}
			calls[i] = w
		}
		done := sessions.AnsweredCalls{Repeat: true}
		for i, w := range calls {
			if !w.answered {
				done.Repeat, done.Frames = false, append(done.Frames, s.answer(r, w, c.Answers[i], digests[i], c.Now)...)
			}
			done.TurnID = w.turn
		}
		if c.Request != nil {
			s.claims[ownRequest{c.Owner, c.Request.ID}] = claim{life: r.life(), turnID: done.TurnID,
				fingerprint: c.Request.Fingerprint, expires: c.Now + sessions.Time(c.Request.TTLMs)}
		}
		done.Session = copySession(r.session)
		return done, nil
	})
}

// findWaited returns the call that an answer fits to.
func (r *record) findWaited(g sessions.GivenAnswer) (*waitedCall, error) {
	err := sessions.ErrNoCall
	for _, w := range r.waited {
		if w.call.CallID != g.CallID {
			continue
		}
		if g.Answer.Answers(w.call.Kind) {
			return w, nil
		}
		err = sessions.ErrWrongAnswer
	}
	return nil, err
}

// answer stores the answer to a call that waits.
func (s *Store) answer(r *record, w *waitedCall, g sessions.GivenAnswer, digest [32]byte, now sessions.Time) []sessions.Frame {
	w.answered, w.digest, w.answer = true, digest, new(copyAnswer(g.Answer))
	r.session.Pending = slices.DeleteFunc(r.session.Pending, func(p sessions.Pending) bool { return p.CallID == g.CallID })
	return r.emit(r.turn(w.turn).Turn, now, sessions.Answered{CallID: g.CallID})
}

// WaitedCalls returns what a turn waits for; see the port.
func (s *Store) WaitedCalls(ctx context.Context, life sessions.Incarnation, id sessions.TurnID) (sessions.WaitedCalls, error) {
	return ofLife(ctx, s, life, func(r *record) (sessions.WaitedCalls, error) {
		waited := sessions.WaitedCalls{Answers: map[sessions.CallID]sessions.CallAnswer{}}
		for _, w := range r.waited {
			if !w.waits || w.turn != id {
				continue
			}
			waited.Pending = append(waited.Pending, copyPending(w.call))
			if w.answered {
				waited.Answers[w.call.CallID] = copyAnswer(*w.answer)
			}
		}
		return waited, nil
	})
}
