package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"

	"agenthost/sessions"
)

const (
	agentColumns = "owner, id, name, profile_key, settings, metadata, created_ms, updated_ms, version"
	selectAgent  = "SELECT " + agentColumns + " FROM saved_agents "
)

// scanAgent reads one agent; ErrNoAgent when there is no row.
func scanAgent(row scanner) (a sessions.SavedAgent, err error) {
	var settings []byte
	var metadata string
	err = row.Scan(&a.Owner, &a.ID, &a.Name, &a.Profile, &settings, &metadata, &a.CreatedAt, &a.UpdatedAt, &a.Version)
	if errors.Is(err, sql.ErrNoRows) {
		return a, sessions.ErrNoAgent
	}
	if err != nil {
		return a, err
	}
	a.Settings, a.Metadata = settings, map[string]string{}
	return a, decodeText(metadata, &a.Metadata)
}

func findAgent(ctx context.Context, q querier, owner sessions.Owner, id sessions.AgentID) (sessions.SavedAgent, error) {
	return scanAgent(q.row(ctx, selectAgent+"WHERE owner = ? AND id = ?", owner, id))
}

// CreateAgent saves an agent; see the port.
func (s *Store) CreateAgent(ctx context.Context, c sessions.CreateAgent) (sessions.CreatedAgent, error) {
	metadata, err := encodeLabels(c.Agent.Metadata)
	if err != nil {
		return sessions.CreatedAgent{}, err
	}
	return do(ctx, s.writer, func(t *tx) (sessions.CreatedAgent, error) {
		known, err := s.knownAgent(t, c)
		switch {
		case err != nil:
			return sessions.CreatedAgent{}, err
		case known != nil:
			return sessions.CreatedAgent{Agent: *known}, nil
		}
		a := c.Agent
		var count int
		if err := t.row(always, "SELECT count(*) FROM saved_agents WHERE owner = ?", a.Owner).Scan(&count); err != nil {
			return sessions.CreatedAgent{}, err
		}
		if count >= c.Most {
			return sessions.CreatedAgent{}, sessions.TooManyAgents(c.Most)
		}
		num, err := t.insert("INSERT INTO saved_agents ("+agentColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)",
			a.Owner, a.ID, a.Name, a.Profile, []byte(a.Settings), metadata, a.CreatedAt, a.CreatedAt)
		if err == nil {
			err = s.claimAgent(t, c, num)
		}
		if err != nil {
			return sessions.CreatedAgent{}, err
		}
		saved, err := findAgent(always, t, a.Owner, a.ID)
		return sessions.CreatedAgent{Agent: saved, Created: true}, err
	})
}

// knownAgent returns the agent that the request has saved before, or that has the
// id already; nil when there is none.
func (s *Store) knownAgent(t *tx, c sessions.CreateAgent) (*sessions.SavedAgent, error) {
	if c.Request != nil {
		var num int64
		var fingerprint []byte
		err := t.row(always, "SELECT num, fingerprint FROM agent_claims WHERE request_hash = ? AND expires_ms > ?",
			s.tombs.agentRequest(c.Agent.Owner, c.Request.ID), c.Agent.CreatedAt).Scan(&num, &fingerprint)
		switch {
		case err == nil && !bytes.Equal(fingerprint, c.Request.Fingerprint[:]):
			return nil, sessions.ErrOtherRequest
		case err == nil:
			saved, err := scanAgent(t.row(always, selectAgent+"WHERE num = ?", num))
			if errors.Is(err, sessions.ErrNoAgent) {
				err = sessions.ErrRequestDeleted
			}
			return &saved, err
		case !errors.Is(err, sql.ErrNoRows):
			return nil, err
		}
	}
	saved, err := findAgent(always, t, c.Agent.Owner, c.Agent.ID)
	if errors.Is(err, sessions.ErrNoAgent) {
		return nil, nil
	}
	return &saved, err
}

// claimAgent remembers which request has saved an agent.
func (s *Store) claimAgent(t *tx, c sessions.CreateAgent, num int64) error {
	if c.Request == nil {
		return nil
	}
	_, err := t.exec(`INSERT INTO agent_claims (request_hash, num, fingerprint, expires_ms) VALUES (?, ?, ?, ?)
        ON CONFLICT (request_hash) DO UPDATE SET num = excluded.num, fingerprint = excluded.fingerprint, expires_ms = excluded.expires_ms`,
		s.tombs.agentRequest(c.Agent.Owner, c.Request.ID), num, c.Request.Fingerprint[:], c.Agent.CreatedAt+sessions.Time(c.Request.TTLMs))
	return err
}

// UpdateAgent replaces an agent; see the port.
func (s *Store) UpdateAgent(ctx context.Context, a sessions.SavedAgent) (sessions.SavedAgent, error) {
	metadata, err := encodeLabels(a.Metadata)
	if err != nil {
		return sessions.SavedAgent{}, err
	}
	return do(ctx, s.writer, func(t *tx) (sessions.SavedAgent, error) {
		n, err := t.exec(`UPDATE saved_agents SET name = ?, profile_key = ?, settings = ?, metadata = ?, updated_ms = ?, version = version + 1
            WHERE owner = ? AND id = ? AND version = ?`,
			a.Name, a.Profile, []byte(a.Settings), metadata, a.UpdatedAt, a.Owner, a.ID, a.Version)
		if err != nil {
			return sessions.SavedAgent{}, err
		}
		saved, err := findAgent(always, t, a.Owner, a.ID)
		if err == nil && n == 0 {
			err = sessions.ErrAgentChanged
		}
		return saved, err
	})
}

// DeleteAgent removes an agent; see the port.
func (s *Store) DeleteAgent(ctx context.Context, c sessions.DeleteAgent) error {
	of := s.tombs.agent(c.Owner, c.ID)
	_, err := do(ctx, s.writer, func(t *tx) (gone bool, err error) {
		n, err := t.exec("DELETE FROM saved_agents WHERE owner = ? AND id = ?", c.Owner, c.ID)
		if err != nil {
			return false, err
		}
		if n > 0 {
			_, err := t.exec(`INSERT INTO agent_tombstones (agent_hash, expires_ms) VALUES (?, ?)
                ON CONFLICT (agent_hash) DO UPDATE SET expires_ms = excluded.expires_ms`, of, c.Now+sessions.Time(c.TombstoneMs))
			return true, err
		}
		err = t.row(always, "SELECT EXISTS (SELECT 1 FROM agent_tombstones WHERE agent_hash = ? AND expires_ms > ?)", of, c.Now).Scan(&gone)
		if err == nil && !gone {
			err = sessions.ErrNoAgent
		}
		return gone, err
	})
	return err
}

// Agent returns an agent; see the port.
func (s *Store) Agent(ctx context.Context, owner sessions.Owner, id sessions.AgentID) (a sessions.SavedAgent, err error) {
	err = s.readers.read(ctx, func(q querier) (err error) {
		a, err = findAgent(ctx, q, owner, id)
		return err
	})
	return a, err
}

// Agents returns agents of an owner; see the port.
func (s *Store) Agents(ctx context.Context, q sessions.AgentQuery) (all []sessions.SavedAgent, err error) {
	where, args := "WHERE owner = ?", []any{q.Owner}
	behind, order := " AND id < ?", " ORDER BY id DESC LIMIT ?"
	if q.Ascending {
		behind, order = " AND id > ?", " ORDER BY id LIMIT ?"
	}
	if q.After != "" {
		where, args = where+behind, append(args, q.After)
	}
	err = s.readers.read(ctx, func(db querier) error {
		return db.each(ctx, selectAgent+where+order, func(row scanner) error {
			a, err := scanAgent(row)
			all = append(all, a)
			return err
		}, append(args, q.Limit)...)
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
