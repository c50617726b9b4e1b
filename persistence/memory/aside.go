package memory

import (
	"slices"

	"agenthost/sessions"
)

// minds reports whether a prompt is refused by a busy session.
func minds(c sessions.AcceptTurn) bool {
	switch c.Busy {
	case sessions.BusyQueue, sessions.BusyInterrupt, sessions.BusySteer:
		return c.Retry != nil
	default:
		return true
	}
}

// keepAside stores a prompt to a busy session: as a queued turn, or as text that
// waits for the active one. It enters the history later.
func (s *Store) keepAside(c sessions.AcceptTurn, r *record) (sessions.AcceptedTurn, error) {
	p := &prompt{content: copyMessage(sessions.Message{Content: c.Content}).Content, claimTTLMs: c.Request.TTLMs,
		steers: c.Busy == sessions.BusySteer,
		turn: sessions.Turn{TurnID: c.TurnID, RequestID: c.Request.ID, Status: sessions.TurnIsQueued, CreatedAt: c.Now,
			Limits: c.Limits, Inference: copyInference(c.Inference)}}
	if p.steers && r.session.ActiveTurn != nil {
		return s.steer(c, r, p)
	}
	switch {
	case r.session.Queued >= int64(c.QueueLimit):
		return sessions.AcceptedTurn{}, errFullQueue(c.QueueLimit)
	case !c.Admitted:
		return sessions.AcceptedTurn{}, sessions.ErrNotAdmitted
	}
	if c.Busy != sessions.BusyQueue {
		p.place = r.front()
		// A text that finds no turn to steer is not before one that found none either.
		if first := r.firstQueued(); p.steers && first != nil && first.steers {
			p.place = first.place
		}
	}
	r.session.Queued++
	s.saveAside(c, r, p, c.TurnID)
	t := s.addTurn(r, p.turn)
	return sessions.AcceptedTurn{Session: copySession(r.session), Turn: copyTurn(t.Turn)}, nil
}

func errFullQueue(limit int) error {
	return sessions.Errorf(sessions.CodeAgentBusy,
		"As many prompts wait for the session as may, which is %d; try again when one has ended.", limit)
}

// steer has a text wait for the active turn.
func (s *Store) steer(c sessions.AcceptTurn, r *record, p *prompt) (sessions.AcceptedTurn, error) {
	active := r.turn(r.session.ActiveTurn.TurnID)
	if len(r.pendingOf(active.TurnID)) >= c.QueueLimit {
		return sessions.AcceptedTurn{}, errFullQueue(c.QueueLimit)
	}
	p.waitsFor, active.steered = active.TurnID, true
	s.saveAside(c, r, p, active.TurnID)
	return sessions.AcceptedTurn{Session: copySession(r.session), Turn: copyTurn(active.Turn), Steers: true}, nil
}

// saveAside stores the prompt, what it changes of the session, and a claim that
// names the turn which answers it.
func (s *Store) saveAside(c sessions.AcceptTurn, r *record, p *prompt, answeredBy sessions.TurnID) {
	r.pending = append(r.pending, p)
	r.session.LastActiveAt = s.activeAt(c.Now)
	if r.session.Preview == "" {
		r.session.Preview = sessions.Preview(c.Content)
	}
	if c.Fence == (sessions.Fence{}) {
		r.session.Fence.Epoch++
	}
	s.claims[ownRequest{c.Owner, c.Request.ID}] = claim{life: r.life(), fingerprint: c.Request.Fingerprint, turnID: answeredBy}
}

// readSteering takes the text that waits for a turn into the history.
func (r *record) readSteering(t *turn, now sessions.Time) (read []sessions.Message, by []sessions.RequestID) {
	for _, p := range r.pendingOf(t.TurnID) {
		r.append(sessions.Message{Role: sessions.RoleUser, Content: p.content, TurnID: t.TurnID, CreatedAt: now})
		read, by = append(read, copyMessage(r.messages[len(r.messages)-1])), append(by, p.turn.RequestID)
		r.removePending(p)
	}
	return read, by
}

// queueUnread makes the next turns of text that a turn leaves behind, in its
// order. A cancel ends it with the turn.
func (s *Store) queueUnread(r *record, t *turn) (queued []sessions.Turn) {
	if t.Status == sessions.TurnIsCancelled {
		r.pending = slices.DeleteFunc(r.pending, func(p *prompt) bool { return p.waitsFor == t.TurnID })
		return nil
	}
	place := r.front()
	for _, p := range r.pendingOf(t.TurnID) {
		p.waitsFor, p.place = "", place
		queued = append(queued, copyTurn(s.addTurn(r, p.turn).Turn))
		r.session.Queued++
		s.moveClaim(r, p.turn.RequestID, p.turn.TurnID, 0)
	}
	return queued
}
