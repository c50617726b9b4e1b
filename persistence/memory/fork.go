package memory

import (
	"context"

	"agenthost/sessions"
)

// ForkSession copies a conversation; see the port. The fork is a session that
// has had no turn.
func (s *Store) ForkSession(ctx context.Context, c sessions.ForkSession) (sessions.ForkedSession, error) {
	return write(ctx, s, func() (sessions.ForkedSession, error) {
		claimed, err := s.repeated(c.Owner, c.Request, c.Now, false)
		if err != nil {
			return sessions.ForkedSession{}, err
		}
		if claimed != nil {
			return sessions.ForkedSession{Session: copySession(s.lives[claimed.life].session), Duplicate: true}, nil
		}
		origin, err := s.forkable(c)
		if err != nil {
			return sessions.ForkedSession{}, err
		}
		fork := s.born(sessions.Session{ID: c.NewID, Owner: c.Owner, TargetKey: c.NewTarget, ProfileKey: origin.session.ProfileKey,
			Title: origin.session.Title, Labels: origin.session.Labels, ForkedFrom: origin.session.ID, Fence: sessions.Fence{Epoch: 1}}, c.Now)
		origin.copyTo(fork, c)
		s.claim(c.Owner, c.Request, fork, 0, c.Now)
		return sessions.ForkedSession{Session: copySession(fork.session)}, nil
	})
}

// forkable returns the session to copy, if it can be copied to where it should.
func (s *Store) forkable(c sessions.ForkSession) (*record, error) {
	origin := s.find(c.Owner, c.At)
	switch {
	case origin == nil:
		return nil, sessions.ErrNoSession
	case c.ThroughSeq < 0 || c.ThroughSeq > origin.session.MessageCount:
		return nil, sessions.InvalidField("/args/throughSeq",
			"The session has messages 1 to %d; choose one of them, or leave it out for all.", origin.session.MessageCount)
	}
	key := sessions.Key{Target: c.NewTarget, Profile: origin.session.ProfileKey}
	if s.find(c.Owner, sessions.Address{ID: c.NewID}) != nil || s.find(c.Owner, sessions.Address{Key: key}) != nil {
		return nil, sessions.ErrForkTaken
	}
	return origin, nil
}

// copyTo gives a fork its messages, without the turns, which are the origin's,
// and state and saved agent if the messages are all.
func (r *record) copyTo(fork *record, c sessions.ForkSession) {
	messages := r.messages
	if c.ThroughSeq > 0 {
		messages = messages[:c.ThroughSeq]
	}
	for _, m := range messages {
		m.TurnID = ""
		fork.append(m)
	}
	fork.summarise(r.summaryThrough(fork.session.MessageCount))
	for _, m := range sessions.CutResults(fork.messages) {
		m.CreatedAt = c.Now
		fork.append(m)
	}
	if len(messages) < len(r.messages) {
		return
	}
	fork.session.AgentID = r.session.AgentID
	for name, v := range r.state {
		if !v.removed {
			fork.set(name, stateOf(v.Value), c.Now)
		}
	}
}
