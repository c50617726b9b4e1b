package sqlite

import (
	"context"

	"agenthost/sessions"
)

const addSums = ` DO UPDATE SET input_tokens = input_tokens + excluded.input_tokens,
    output_tokens = output_tokens + excluded.output_tokens, cached_tokens = cached_tokens + excluded.cached_tokens,
    calls = calls + excluded.calls`

// addUsage adds what was consumed to the session's and the owner's sums of the
// day. The owner's outlive the session.
func addUsage(t *tx, owner sessions.Owner, c sessions.AddUsage) error {
	u := c.Usage
	if u == (sessions.Usage{}) {
		return nil
	}
	if _, err := t.exec(`INSERT INTO usage (sid, day, model, kind, input_tokens, output_tokens, cached_tokens, calls)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (sid, day, model, kind)`+addSums,
		c.Life, c.Now.Day(), c.Model, c.Kind, u.InputTokens, u.OutputTokens, u.CachedTokens, u.Calls); err != nil {
		return err
	}
	_, err := t.exec(`INSERT INTO owner_usage (owner, day, model, kind, input_tokens, output_tokens, cached_tokens, calls)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (owner, day, model, kind)`+addSums,
		owner, c.Now.Day(), c.Model, c.Kind, u.InputTokens, u.OutputTokens, u.CachedTokens, u.Calls)
	return err
}

// AddUsage adds to the sums of a session and its owner; see the port.
func (s *Store) AddUsage(ctx context.Context, c sessions.AddUsage) error {
	if err := c.Check(); err != nil {
		return err
	}
	_, err := do(ctx, s.writer, func(t *tx) (bool, error) {
		session, err := liveSession(always, t, c.Life)
		if err == nil && session == nil {
			err = sessions.ErrFenced
		}
		if err != nil {
			return false, err
		}
		return true, addUsage(t, session.Owner, c)
	})
	return err
}

// The columns of a sum that is read from a table u, and how its rows are grouped
// where they are of several sessions.
const (
	sumColumns = `u.day, u.model, u.kind, sum(u.input_tokens), sum(u.output_tokens), sum(u.cached_tokens), sum(u.calls)`
	sumGroups  = ` GROUP BY u.day, u.model, u.kind`
)

// The sums of each scope. Their last parameter is the first day.
const (
	usageOfSession = `SELECT ` + sumColumns + ` FROM usage u WHERE u.sid = ? AND u.day >= ?` + sumGroups
	usageOfOwner   = `SELECT ` + sumColumns + ` FROM owner_usage u WHERE u.owner = ? AND u.day >= ?` + sumGroups
	usageOfTree    = walkTree + `SELECT ` + sumColumns + ` FROM tree CROSS JOIN sessions s INDEXED BY sessions_by_id
        ON s.owner = ?1 AND s.id = tree.id AND s.deleted_ms IS NULL CROSS JOIN usage u ON u.sid = s.sid AND u.day >= ?3` + sumGroups
)

// Usage sums up what was consumed; see the port.
func (s *Store) Usage(ctx context.Context, q sessions.UsageQuery) (sums []sessions.UsageSum, err error) {
	scan := func(row scanner) error {
		var u sessions.UsageSum
		err := row.Scan(&u.Day, &u.Model, &u.Kind, &u.Usage.InputTokens, &u.Usage.OutputTokens, &u.Usage.CachedTokens, &u.Usage.Calls)
		sums = append(sums, u)
		return err
	}
	err = s.readers.read(ctx, func(of querier) error {
		if q.By == sessions.UsageByOwner {
			return of.each(ctx, usageOfOwner, scan, q.Owner, q.Since.Day())
		}
		session, err := liveSession(ctx, of, q.Life)
		switch {
		case err != nil:
			return err
		case session == nil:
			return sessions.ErrLifeOver
		case q.By == sessions.UsageByTree:
			return of.each(ctx, usageOfTree, scan, session.Owner, session.ID, q.Since.Day())
		}
		return of.each(ctx, usageOfSession, scan, q.Life, q.Since.Day())
	})
	if err != nil {
		return nil, err
	}
	return sums, nil
}
