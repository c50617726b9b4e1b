package memory

import (
	"context"

	"agenthost/sessions"
)

// AcceptTurn stores a prompt; see the port for the order of its checks.
func (s *Store) AcceptTurn(ctx context.Context, c sessions.AcceptTurn) (sessions.AcceptedTurn, error) {
	return write(ctx, s, func() (sessions.AcceptedTurn, error) {
		claimed, err := s.repeated(c.Owner, &c.Request, c.Now, true)
		if err != nil {
			return sessions.AcceptedTurn{}, err
		}
		if claimed != nil {
			return s.duplicate(*claimed, c.Request.ID), nil
		}
		r := s.find(c.Owner, c.At)
		if err := s.acceptable(c, r); err != nil {
			return sessions.AcceptedTurn{}, err
		}
		if r != nil && r.busy() != nil {
			return s.keepAside(c, r)
		}
		again, err := retried(c, r)
		if err != nil {
			return sessions.AcceptedTurn{}, err
		}
		if !c.Admitted {
			return sessions.AcceptedTurn{}, sessions.ErrNotAdmitted
		}
		return s.start(c, r, again)
	})
}

// duplicate answers a repeat with what is stored.
func (s *Store) duplicate(c claim, id sessions.RequestID) sessions.AcceptedTurn {
	r := s.lives[c.life]
	t := r.turn(c.turnID)
	answer := sessions.AcceptedTurn{Session: copySession(r.session), Turn: copyTurn(t.Turn), Duplicate: true}
	if p := r.findPending(id); p != nil {
		answer.Steers = p.waitsFor != ""
	}
	if t.Status.Terminal() && t.FinalSeq > 0 {
		final := copyMessage(r.messages[t.FinalSeq-1])
		answer.Final = &final
	}
	return answer
}

// acceptable refuses what may not start; r is nil for an address without a
// session.
func (s *Store) acceptable(c sessions.AcceptTurn, r *record) error {
	stale := c.Generation != 0 && c.Generation != s.generation(c.Owner)
	switch {
	case r == nil && c.At.ID != "" && c.Begin == nil:
		return sessions.ErrNoSession
	case c.Refusal != nil:
		return c.Refusal
	case r == nil:
		if stale || c.Fence != (sessions.Fence{}) {
			return sessions.ErrFenced
		}
	case r.session.Status == sessions.StatusClosed:
		return sessions.ErrSessionClosed
	case stale, c.Fence.Incarnation != 0 && c.Fence.Incarnation != r.life():
		return sessions.ErrFenced
	case r.busy() != nil && minds(c):
		return r.busy()
	case c.Fence != (sessions.Fence{}) && c.Fence != r.session.Fence:
		return sessions.ErrFenced
	}
	return nil
}

// retried returns the turn that a retry takes up: the session's last one, if it
// has ended without an answer. It is nil for a prompt.
func retried(c sessions.AcceptTurn, r *record) (*turn, error) {
	switch {
	case c.Retry == nil:
		return nil, nil
	case r == nil:
		return nil, sessions.ErrNoSession
	}
	// Queued turns may have started in another order than they were stored in, and
	// those that never did have nothing to take up.
	var last *turn
	for _, t := range r.turns {
		if t.UserSeq > 0 && (last == nil || t.FirstFrame > last.FirstFrame) {
			last = t
		}
	}
	switch {
	case last == nil:
		return nil, sessions.ErrNothingToRetry
	case *c.Retry != "" && *c.Retry != last.TurnID:
		return nil, sessions.ErrNotLastTurn
	case last.Status == sessions.TurnIsCompleted:
		return nil, sessions.ErrNothingToRetry
	}
	return last, nil
}

// bornFor makes the session of a prompt to an address that has none.
func (s *Store) bornFor(c sessions.AcceptTurn) *record {
	made := sessions.Session{ID: c.NewID, Owner: c.Owner, TargetKey: c.At.Key.Target, ProfileKey: c.At.Key.Profile}
	if c.At.ID == "" {
		return s.born(made, c.Now)
	}
	made.ID, made.ProfileKey, made.AgentID, made.Labels = c.At.ID, c.Begin.Profile, c.Begin.AgentID, c.Begin.Labels
	r := s.born(made, c.Now)
	for name, raw := range c.Begin.State {
		r.set(name, stateOf(raw), c.Now)
	}
	return r
}

// start stores the turn, and its prompt unless it takes up another.
func (s *Store) start(c sessions.AcceptTurn, r *record, again *turn) (sessions.AcceptedTurn, error) {
	status := sessions.StatusCreated
	if r != nil {
		status = r.session.Status
	}
	next, err := sessions.Next(status, sessions.TurnStarted)
	if err != nil {
		return sessions.AcceptedTurn{}, sessions.Errorf(sessions.CodeInternal, "The session cannot start a turn.").Because(err)
	}
	made := r == nil
	if made {
		r = s.bornFor(c)
	}
	t := s.addTurn(r, sessions.Turn{TurnID: c.TurnID, RequestID: c.Request.ID, Status: sessions.TurnIsRunning,
		CreatedAt: c.Now, StartedAt: c.Now, Limits: c.Limits, Inference: c.Inference, FirstFrame: r.session.LastFrame + 1})
	bodies := []sessions.FrameBody{sessions.Accepted{}, sessions.Started{}}
	var user *sessions.Message
	if again != nil {
		t.UserSeq, t.Inference = again.UserSeq, copyInference(again.Inference)
	} else {
		r.append(sessions.Message{Role: sessions.RoleUser, Content: c.Content, TurnID: c.TurnID, CreatedAt: c.Now})
		stored := copyMessage(r.messages[len(r.messages)-1])
		user, t.UserSeq = &stored, stored.Seq
		bodies = append(bodies, sessions.MessageAppended{Message: stored})
	}
	r.session.Status, r.session.LastActiveAt = next, s.activeAt(c.Now)
	r.session.ActiveTurn = &sessions.ActiveTurn{TurnID: c.TurnID, RequestID: c.Request.ID, Status: t.Status, StartedAt: c.Now}
	if c.Fence == (sessions.Fence{}) {
		r.session.Fence.Epoch++
	}
	s.claims[ownRequest{c.Owner, c.Request.ID}] = claim{life: r.life(), fingerprint: c.Request.Fingerprint, turnID: c.TurnID}
	frames := r.emit(t.Turn, c.Now, bodies...)
	return sessions.AcceptedTurn{Session: copySession(r.session), Turn: copyTurn(t.Turn), Created: made, User: user, Frames: frames}, nil
}
