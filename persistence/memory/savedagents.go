package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"agenthost/sessions"
)

// agentClaim is what is known of a request that has saved an agent.
type agentClaim struct {
	agent       hash
	fingerprint [32]byte
	expires     sessions.Time
}

func (s *Store) agentHash(of ownAgent) hash { return s.hashOf('a', of.owner, string(of.id)) }

func copyAgent(a sessions.SavedAgent) sessions.SavedAgent {
	a.Settings, a.Metadata = slices.Clone(a.Settings), maps.Clone(a.Metadata)
	if a.Metadata == nil {
		a.Metadata = map[string]string{}
	}
	return a
}

// CreateAgent saves an agent; see the port.
func (s *Store) CreateAgent(ctx context.Context, c sessions.CreateAgent) (sessions.CreatedAgent, error) {
	return write(ctx, s, func() (sessions.CreatedAgent, error) {
		of := ownAgent{c.Agent.Owner, c.Agent.ID}
		known, found, err := s.savedBy(of.owner, c.Request, c.Agent.CreatedAt)
		if err != nil {
			return sessions.CreatedAgent{}, err
		}
		if !found {
			known, found = s.agents[of]
		}
		if found {
			return sessions.CreatedAgent{Agent: copyAgent(known)}, nil
		}
		if len(s.agentsOf(of.owner)) >= c.Most {
			return sessions.CreatedAgent{}, sessions.TooManyAgents(c.Most)
		}
		saved := copyAgent(c.Agent)
		saved.UpdatedAt, saved.Version = saved.CreatedAt, 1
		s.agents[of] = saved
		if r := c.Request; r != nil {
			s.agentClaims[s.hashOf('q', of.owner, string(r.ID))] = agentClaim{s.agentHash(of), r.Fingerprint,
				saved.CreatedAt + sessions.Time(r.TTLMs)}
		}
		return sessions.CreatedAgent{Agent: copyAgent(saved), Created: true}, nil
	})
}

// savedBy returns the agent that a request has saved before.
func (s *Store) savedBy(owner sessions.Owner, r *sessions.Request, now sessions.Time) (a sessions.SavedAgent, found bool, err error) {
	if r == nil {
		return a, false, nil
	}
	c, found := s.agentClaims[s.hashOf('q', owner, string(r.ID))]
	switch {
	case !found || c.expires <= now:
		return a, false, nil
	case c.fingerprint != r.Fingerprint:
		return a, false, sessions.ErrOtherRequest
	}
	for of, a := range s.agents {
		if s.agentHash(of) == c.agent {
			return a, true, nil
		}
	}
	return a, false, sessions.ErrRequestDeleted
}

func (s *Store) agentsOf(owner sessions.Owner) (all []sessions.SavedAgent) {
	for of, a := range s.agents {
		if of.owner == owner {
			all = append(all, a)
		}
	}
	return all
}

// UpdateAgent replaces an agent; see the port.
func (s *Store) UpdateAgent(ctx context.Context, a sessions.SavedAgent) (sessions.SavedAgent, error) {
	return write(ctx, s, func() (sessions.SavedAgent, error) {
		of := ownAgent{a.Owner, a.ID}
		stored, found := s.agents[of]
		switch {
		case !found:
			return sessions.SavedAgent{}, sessions.ErrNoAgent
		case stored.Version != a.Version:
			return sessions.SavedAgent{}, sessions.ErrAgentChanged
		}
		changed := copyAgent(a)
		changed.CreatedAt, changed.Version = stored.CreatedAt, stored.Version+1
		s.agents[of] = changed
		return copyAgent(changed), nil
	})
}

// DeleteAgent removes an agent; see the port.
func (s *Store) DeleteAgent(ctx context.Context, c sessions.DeleteAgent) error {
	_, err := write(ctx, s, func() (bool, error) {
		of := ownAgent{c.Owner, c.ID}
		grave := s.agentHash(of)
		if _, found := s.agents[of]; found {
			delete(s.agents, of)
			s.agentGraves[grave] = c.Now + sessions.Time(c.TombstoneMs)
		}
		if s.agentGraves[grave] <= c.Now {
			return false, sessions.ErrNoAgent
		}
		return true, nil
	})
	return err
}

// Agent returns an agent; see the port.
func (s *Store) Agent(ctx context.Context, owner sessions.Owner, id sessions.AgentID) (sessions.SavedAgent, error) {
	return read(ctx, s, func() (sessions.SavedAgent, error) {
		a, found := s.agents[ownAgent{owner, id}]
		if !found {
			return sessions.SavedAgent{}, sessions.ErrNoAgent
		}
		return copyAgent(a), nil
	})
}

// Agents returns agents of an owner; see the port.
func (s *Store) Agents(ctx context.Context, q sessions.AgentQuery) ([]sessions.SavedAgent, error) {
	order := func(a, b sessions.AgentID) int { return cmp.Compare(b, a) }
	if q.Ascending {
		order = cmp.Compare[sessions.AgentID]
	}
	return read(ctx, s, func() ([]sessions.SavedAgent, error) {
		found := slices.DeleteFunc(s.agentsOf(q.Owner), func(a sessions.SavedAgent) bool {
			return q.After != "" && order(a.ID, q.After) <= 0
		})
		slices.SortFunc(found, func(a, b sessions.SavedAgent) int { return order(a.ID, b.ID) })
		return copyAll(found[:min(q.Limit, len(found))], copyAgent), nil
	})
}
