package memory

import (
	"context"
	"slices"

	"agenthost/sessions"
)

// CommitTurn stores a step of a turn; see the port.
func (s *Store) CommitTurn(ctx context.Context, c sessions.CommitTurn) (sessions.CommittedTurn, error) {
	bodies, err := framesOf(c)
	if err != nil {
		return sessions.CommittedTurn{}, err
	}
	return write(ctx, s, func() (sessions.CommittedTurn, error) {
		r, t, err := s.committable(c)
		if err != nil {
			return sessions.CommittedTurn{}, err
		}
		next, err := r.after(c, t)
		if err != nil {
			return sessions.CommittedTurn{}, err
		}
		if err := r.mayFollow(c); err != nil {
			return sessions.CommittedTurn{}, err
		}
		if c.Resume != nil {
			t.Attempts, t.ResumedAt = c.Resume.Attempts, c.Now
			t.WaitedMs += c.Resume.AwayMs
			r.session.Fence.Epoch++
		}
		for _, m := range c.Messages {
			r.append(c.Completed(m))
		}
		var answer sessions.CommittedTurn
		if c.Steer {
			answer.Steered, answer.SteeredBy = r.readSteering(t, c.Now)
		}
		for name, raw := range c.State {
			r.set(name, stateOf(raw), c.Now)
		}
		r.summarise(c.Summary)
		t.Usage = t.Usage.Plus(c.Usage)
		r.session.Usage = r.session.Usage.Plus(c.Usage)
		s.addUsage(r, sessions.AddUsage{Model: c.Model, Usage: c.Usage, Now: c.Now})
		t.Iterations = max(t.Iterations, c.Iterations)
		for _, m := range answer.Steered {
			bodies = append(bodies, sessions.MessageAppended{Message: m})
		}
		answer.Frames = r.emit(t.Turn, c.Now, bodies...)
		r.moveWait(c, t, next)
		if c.End != nil {
			s.end(c, r, t, next)
			answer.Queued = s.queueUnread(r, t)
		}
		r.retain(s.keep, t)
		answer.Session, answer.Turn = copySession(r.session), copyTurn(t.Turn)
		return answer, nil
	})
}

// framesOf returns a step's frames, the terminal one last.
func framesOf(c sessions.CommitTurn) ([]sessions.FrameBody, error) {
	var bodies []sessions.FrameBody
	for _, b := range c.Frames {
		kind := sessions.Frame{Body: b}.Type()
		if kind == sessions.FrameDelta || kind == sessions.FrameGap || kind.Terminal() {
			return nil, sessions.Errorf(sessions.CodeInternal, "A step cannot store a frame of type %q.", kind)
		}
		if appended, ok := b.(sessions.MessageAppended); ok {
			b = sessions.MessageAppended{Message: c.Completed(appended.Message)}
		}
		bodies = append(bodies, b)
	}
	switch {
	case c.End != nil:
		bodies = append(bodies, c.End.Frame())
	case len(c.Wait) > 0:
		bodies = append(bodies, sessions.Waiting{Pending: c.Wait})
	}
	return bodies, nil
}

// committable returns the session and the turn if the step may be written.
func (s *Store) committable(c sessions.CommitTurn) (*record, *turn, error) {
	r := s.lives[c.Fence.Incarnation]
	if r == nil || r.session.Fence != c.Fence {
		return nil, nil, sessions.ErrFenced
	}
	t := r.turn(c.TurnID)
	switch {
	case t == nil:
		return nil, nil, sessions.Errorf(sessions.CodeInternal, "The session has no turn %q.", c.TurnID)
	case t.Status.Terminal():
		return nil, nil, sessions.ErrTurnEnded
	case t.Status == sessions.TurnIsQueued:
		return nil, nil, sessions.Errorf(sessions.CodeInternal, "The turn %q is queued; it has to start before its first step.", t.TurnID)
	}
	if err := r.mayWait(c, t); err != nil {
		return nil, nil, err
	}
	for i, m := range c.Messages {
		if want := r.session.MessageCount + 1 + int64(i); m.Seq != want {
			return nil, nil, sessions.Errorf(sessions.CodeInternal, "A step's message has seq %d where the history goes on with %d.", m.Seq, want)
		}
	}
	return r, t, nil
}

// end moves turn and session to where the end leads, and starts the claim's last
// period of life.
func (s *Store) end(c sessions.CommitTurn, r *record, t *turn, next sessions.Status) {
	t.Status, t.Error, t.FinalSeq = c.End.Status, copyError(c.End.Error), c.End.FinalSeq
	t.EndedAt, t.LastFrame = c.Now, r.session.LastFrame
	r.session.Status, r.session.ActiveTurn = next, nil
	r.session.TurnCount++
	r.session.LastActiveAt = s.activeAt(c.Now)
	r.session.LastError = nil
	if next == sessions.StatusFailed {
		r.session.LastError = copyError(c.End.Error)
	}
	if c.End.Detached {
		r.session.Fence.Epoch++
	}
	s.endClaims(r, t, c.Now+sessions.Time(c.End.ClaimTTLMs))
}

// endClaims starts the last period of life of the claims that name a turn: its
// own, and those of the text it was sent.
func (s *Store) endClaims(r *record, t *turn, expires sessions.Time) {
	request := ownRequest{r.session.Owner, t.RequestID}
	if held := s.claims[request]; held.turnID == t.TurnID {
		held.expires = expires
		s.claims[request] = held
	}
	if !t.steered {
		return
	}
	for request, held := range s.claims {
		if held.life == r.life() && held.turnID == t.TurnID {
			held.expires = expires
			s.claims[request] = held
		}
	}
}

// retain cuts the oldest frames when there are more than are kept. A turn that
// goes on keeps all of its own.
func (r *record) retain(keep int64, t *turn) {
	excess := int64(len(r.frames)) - keep
	if keep < 0 || excess <= 0 {
		return
	}
	if !t.Status.Terminal() {
		excess = min(excess, t.FirstFrame-r.firstFrame)
	}
	r.frames = slices.Clone(r.frames[excess:])
	r.firstFrame += excess
}
