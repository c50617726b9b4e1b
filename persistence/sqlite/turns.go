package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"agenthost/sessions"
)

// Turns returns a page of a life's turns, newest first; see the port.
func (s *Store) Turns(ctx context.Context, life sessions.Incarnation, q sessions.TurnQuery) (sessions.TurnPage, error) {
	from := mark{b: maxSeq}
	behind, order := "num < ?", "num DESC"
	if q.Ascending {
		from.b, behind, order = 0, "num > ?", "num"
	}
	if q.Cursor != "" {
		var err error
		if from, err = markAt(q.Cursor, 't'); err != nil {
			return sessions.TurnPage{}, err
		}
		if from.a != int64(life) {
			return sessions.TurnPage{}, sessions.ErrCursor
		}
	}
	limit := pageLimit(q.Limit)
	var turns []turnRow
	err := s.ofLife(ctx, life, func(db querier, _ *sessionRow) error {
		if q.After != "" {
			after, err := lifeTurn(ctx, db, life, q.After)
			if err != nil {
				return err
			}
			from.b = after.num
		}
		return db.each(ctx, "SELECT "+turnColumns+" FROM turns WHERE sid = ? AND "+behind+" ORDER BY "+order+" LIMIT ?",
			func(row scanner) error {
				t, err := scanTurn(row)
				turns = append(turns, t)
				return err
			}, life, from.b, limit+1)
	})
	if err != nil {
		return sessions.TurnPage{}, err
	}
	var page sessions.TurnPage
	turns, more := cut(turns, limit)
	for _, t := range turns {
		page.Turns = append(page.Turns, t.Turn)
	}
	if more {
		page.NextCursor = mark{'t', int64(life), turns[len(turns)-1].num}.cursor()
	}
	return page, nil
}

// Turn returns a turn of a life; see the port.
func (s *Store) Turn(ctx context.Context, life sessions.Incarnation, id sessions.TurnID) (sessions.Turn, error) {
	var turn turnRow
	err := s.ofLife(ctx, life, func(db querier, _ *sessionRow) (err error) {
		turn, err = lifeTurn(ctx, db, life, id)
		return err
	})
	return turn.Turn, err
}

// lifeTurn returns a turn of a life, else NOT_FOUND.
func lifeTurn(ctx context.Context, q querier, life sessions.Incarnation, id sessions.TurnID) (turnRow, error) {
	turn, err := findTurn(ctx, q, id)
	if errors.Is(err, sql.ErrNoRows) || err == nil && turn.life != life {
		return turn, sessions.ErrNoTurn
	}
	return turn, err
}

// TurnByRequest returns the latest turn of a request id; see the port.
func (s *Store) TurnByRequest(ctx context.Context, life sessions.Incarnation, id sessions.RequestID) (sessions.Turn, error) {
	var turn turnRow
	err := s.ofLife(ctx, life, func(db querier, _ *sessionRow) (err error) {
		turn, err = scanTurn(db.row(ctx, "SELECT "+turnColumns+
			" FROM turns WHERE sid = ? AND request_id = ? ORDER BY num DESC LIMIT 1", life, id))
		if errors.Is(err, sql.ErrNoRows) {
			return sessions.ErrNoTurn
		}
		return err
	})
	return turn.Turn, err
}

// BusyTurns returns all turns that are not terminal; see the port.
func (s *Store) BusyTurns(ctx context.Context) ([]sessions.BusyTurn, error) {
	var busy []sessions.BusyTurn
	err := s.readers.read(ctx, func(q querier) error {
		var turns []turnRow
		err := q.each(ctx, "SELECT "+turnColumns+` FROM turns INDEXED BY turns_busy
            WHERE status IN ('queued', 'running', 'waiting')
            ORDER BY (SELECT p.place FROM pending_prompts p WHERE p.turn_id = turns.turn_id),
                (SELECT p.num FROM pending_prompts p WHERE p.turn_id = turns.turn_id), num`, func(row scanner) error {
			t, err := scanTurn(row)
			turns = append(turns, t)
			return err
		})
		if err != nil || len(turns) == 0 {
			return err
		}
		interrupting, err := interruptingTurns(ctx, q)
		for i := 0; err == nil && i < len(turns); i++ {
			var session *sessionRow
			session, err = liveSession(ctx, q, turns[i].life)
			if err == nil && session != nil {
				busy = append(busy, sessions.BusyTurn{Turn: turns[i].Turn, Session: session.Session,
					Interrupts: interrupting[turns[i].TurnID]})
			}
		}
		return err
	})
	return busy, err
}

// interruptingTurns returns the queued turns that were accepted to interrupt the
// turn which is active still. One that was active later is not meant by them.
func interruptingTurns(ctx context.Context, q querier) (map[sessions.TurnID]bool, error) {
	found := map[sessions.TurnID]bool{}
	err := q.each(ctx, `SELECT queued.turn_id FROM pending_prompts p
            JOIN turns queued ON queued.turn_id = p.turn_id
            JOIN turns active ON active.sid = p.sid AND active.status IN ('running', 'waiting')
        WHERE p.waits_for = 0 AND p.place < 0 AND p.steers = 0 AND active.num < queued.num`, func(row scanner) error {
		var id sessions.TurnID
		err := row.Scan(&id)
		found[id] = true
		return err
	})
	return found, err
}
