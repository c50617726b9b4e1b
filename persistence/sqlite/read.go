package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"agenthost/sessions"
)

// Session returns the session at an address; see the port.
func (s *Store) Session(ctx context.Context, owner sessions.Owner, at sessions.Address) (sessions.Session, error) {
	var found sessions.Session
	err := s.readers.read(ctx, func(q querier) error {
		row, err := findSession(ctx, q, owner, at)
		if err != nil {
			return err
		}
		if row == nil {
			return sessions.ErrNoSession
		}
		found = row.Session
		return nil
	})
	return found, err
}

// Resolve says what an address means now; see the port.
func (s *Store) Resolve(ctx context.Context, owner sessions.Owner, at sessions.Address) (sessions.Resolution, error) {
	var r sessions.Resolution
	err := s.readers.read(ctx, func(q querier) (err error) {
		r, err = resolve(ctx, q, owner, at)
		return err
	})
	return r, err
}

const (
	resolveColumns = `SELECT sid, id, target_key, profile_key, generation, status = 'waiting' FROM sessions WHERE owner = ? AND deleted_ms IS NULL `
	resolveID      = resolveColumns + `AND id = ?`
	resolveKey     = resolveColumns + `AND target_key = ? AND profile_key = ? AND target_key <> ''`
)

func resolve(ctx context.Context, q querier, owner sessions.Owner, at sessions.Address) (sessions.Resolution, error) {
	var r sessions.Resolution
	var target string
	query, args := resolveID, []any{owner, at.ID}
	if at.ID == "" {
		query, args = resolveKey, []any{owner, at.Key.Target, at.Key.Profile}
	}
	err := q.row(ctx, query, args...).Scan(&r.Life, &r.ID, &target, &r.Profile, &r.Generation, &r.Waits)
	if errors.Is(err, sql.ErrNoRows) {
		r.Generation, err = generation(ctx, q, owner)
		return r, err
	}
	if target != "" {
		r.Key = sessions.Key{Target: target, Profile: r.Profile}
	}
	return r, err
}

// generation returns an owner's generation: 1 before its first clear.
func generation(ctx context.Context, q querier, owner sessions.Owner) (int64, error) {
	var g int64
	err := q.row(ctx, "SELECT generation FROM owners WHERE owner = ?", owner).Scan(&g)
	if errors.Is(err, sql.ErrNoRows) {
		return 1, nil
	}
	return g, err
}

// ofLife runs f on a snapshot in which the life goes on. A damaged body that f
// meets marks the session, so that prompts are refused from then on.
func (s *Store) ofLife(ctx context.Context, life sessions.Incarnation, f func(querier, *sessionRow) error) error {
	err := s.readers.read(ctx, func(q querier) error {
		row, err := liveSession(ctx, q, life)
		if err != nil {
			return err
		}
		if row == nil {
			return sessions.ErrLifeOver
		}
		return f(q, row)
	})
	if sessions.CodeOf(err) == sessions.CodeSessionDamaged {
		s.markDamaged(ctx, life)
	}
	return err
}

// markDamaged records that a body of the session fails its checksum. A session
// with an active turn keeps its status, which is the turn's to change.
func (s *Store) markDamaged(ctx context.Context, life sessions.Incarnation) {
	lastError, err := encodeError(errDamaged.Info())
	if err == nil {
		_, err = do(ctx, s.writer, func(t *tx) (int64, error) {
			return t.exec(`UPDATE sessions SET damaged = 1, last_error = ?,
                    status = CASE WHEN status IN ('created', 'idle') THEN 'failed' ELSE status END
                WHERE sid = ? AND damaged = 0 AND deleted_ms IS NULL`, lastError, life)
		})
	}
	s.log.Error("a stored body fails its checksum", "incarnation", life, "mark", err)
}

// Messages returns a range of a life's messages; see the port.
func (s *Store) Messages(ctx context.Context, life sessions.Incarnation, q sessions.MessageQuery) (sessions.MessagePage, error) {
	var page sessions.MessagePage
	span := seqRange{q.AfterSeq, q.BeforeSeq, q.Descending, q.Limit}
	err := s.ofLife(ctx, life, func(db querier, _ *sessionRow) error {
		query := "SELECT " + messageColumns + " FROM session_messages WHERE sid = ?" + span.clause("seq")
		return db.each(ctx, query, func(row scanner) error {
			m, err := scanMessage(row)
			page.Messages = append(page.Messages, m)
			return err
		}, span.args(life)...)
	})
	if err != nil {
		return sessions.MessagePage{}, err
	}
	page.Messages, page.HasMore = cut(page.Messages, q.Limit)
	return page, nil
}

// seqRange selects rows by seq, exclusive at both ends.
type seqRange struct {
	after, before int64
	descending    bool
	limit         int
}

// clause goes behind a WHERE that has its first condition; args fills it in.
func (r seqRange) clause(column string) string {
	order := " ASC"
	if r.descending {
		order = " DESC"
	}
	return " AND " + column + " > ? AND " + column + " < ? ORDER BY " + column + order + " LIMIT ?"
}

// args asks for one row more than the limit, which tells whether there are more.
func (r seqRange) args(first ...any) []any {
	before, limit := r.before, r.limit+1
	if before == 0 {
		before = maxSeq
	}
	if r.limit <= 0 {
		limit = -1
	}
	return append(first, r.after, before, limit)
}

const maxSeq = 1<<63 - 1
