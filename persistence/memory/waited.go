package memory

import (
	"context"
	"slices"

	"agenthost/sessions"
)

// AnswerCall stores a client's answer to a call; see the port.
func (s *Store) AnswerCall(ctx context.Context, c sessions.AnswerCall) (sessions.AnsweredCall, error) {
	digest := c.Answer.Digest()
	return write(ctx, s, func() (sessions.AnsweredCall, error) {
		r := s.find(c.Owner, c.At)
		switch {
		case r == nil:
			return sessions.AnsweredCall{}, sessions.ErrNoSession
		case r.session.Status == sessions.StatusClosed:
			return sessions.AnsweredCall{}, sessions.ErrSessionClosed
		}
		w, err := r.findWaited(c)
		switch {
		case err != nil:
			return sessions.AnsweredCall{}, err
		case !w.answered:
			return s.answer(r, w, c, digest), nil
		case w.digest != digest:
			return sessions.AnsweredCall{}, sessions.ErrOtherAnswer
		}
		return sessions.AnsweredCall{Session: copySession(r.session), TurnID: w.turn, Repeat: true}, nil
	})
}

// findWaited returns the call that an answer fits to.
func (r *record) findWaited(c sessions.AnswerCall) (*waitedCall, error) {
	err := sessions.ErrNoCall
	for _, w := range r.waited {
		if w.call.CallID != c.CallID {
			continue
		}
		if c.Answer.Answers(w.call.Kind) {
			return w, nil
		}
		err = sessions.ErrWrongAnswer
	}
	return nil, err
}

// answer stores the answer to a call that waits.
func (s *Store) answer(r *record, w *waitedCall, c sessions.AnswerCall, digest [32]byte) sessions.AnsweredCall {
	w.answered, w.digest, w.answer = true, digest, new(copyAnswer(c.Answer))
	r.session.Pending = slices.DeleteFunc(r.session.Pending, func(p sessions.Pending) bool { return p.CallID == c.CallID })
	r.session.LastActiveAt = s.activeAt(c.Now)
	frames := r.emit(r.turn(w.turn).Turn, c.Now, sessions.Answered{CallID: c.CallID})
	return sessions.AnsweredCall{Session: copySession(r.session), TurnID: w.turn, Frames: frames}
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
