package sqlite

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/binary"
	"errors"

	"agenthost/sessions"
)

const cursorField = "/args/cursor"

var errCursor = sessions.InvalidField(cursorField, "This cursor is not of this list; start again without one.")

// Turns returns a page of a life's turns, newest first; see the port.
func (s *Store) Turns(ctx context.Context, life sessions.Incarnation, q sessions.TurnQuery) (sessions.TurnPage, error) {
	before := int64(maxSeq)
	if q.Cursor != "" {
		var err error
		if before, err = turnPosition(q.Cursor, life); err != nil {
			return sessions.TurnPage{}, err
		}
	}
	limit := pageLimit(q.Limit)
	var turns []turnRow
	err := s.ofLife(ctx, life, func(db querier, _ *sessionRow) error {
		return db.each(ctx, "SELECT "+turnColumns+" FROM turns WHERE sid = ? AND num < ? ORDER BY num DESC LIMIT ?",
			func(row scanner) error {
				t, err := scanTurn(row)
				turns = append(turns, t)
				return err
			}, life, before, limit+1)
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
		page.NextCursor = turnCursor(life, turns[len(turns)-1].num)
	}
	return page, nil
}

// defaultPage is the size of a page whose query names none.
const defaultPage = 50

func pageLimit(limit int) int {
	if limit <= 0 {
		return defaultPage
	}
	return limit
}

func turnCursor(life sessions.Incarnation, num int64) string {
	raw := binary.AppendUvarint(binary.AppendUvarint([]byte{'t'}, uint64(life)), uint64(num))
	return base64.RawURLEncoding.EncodeToString(raw)
}

func turnPosition(cursor string, life sessions.Incarnation) (int64, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) < 3 || raw[0] != 't' {
		return 0, errCursor
	}
	of, n := binary.Uvarint(raw[1:])
	if n <= 0 || sessions.Incarnation(of) != life {
		return 0, errCursor
	}
	num, m := binary.Uvarint(raw[1+n:])
	if m <= 0 || num > maxSeq || turnCursor(life, int64(num)) != cursor {
		return 0, errCursor
	}
	return int64(num), nil
}

// Turn returns a turn of a life; see the port.
func (s *Store) Turn(ctx context.Context, life sessions.Incarnation, id sessions.TurnID) (sessions.Turn, error) {
	var turn turnRow
	err := s.ofLife(ctx, life, func(db querier, _ *sessionRow) (err error) {
		turn, err = findTurn(ctx, db, id)
		if errors.Is(err, sql.ErrNoRows) || err == nil && turn.life != life {
			return sessions.Errorf(sessions.CodeNotFound, "No turn of this session has this id.")
		}
		return err
	})
	return turn.Turn, err
}

// TurnByRequest returns the latest turn of a request id; see the port.
func (s *Store) TurnByRequest(ctx context.Context, life sessions.Incarnation, id sessions.RequestID) (sessions.Turn, error) {
	var turn turnRow
	err := s.ofLife(ctx, life, func(db querier, _ *sessionRow) (err error) {
		turn, err = scanTurn(db.row(ctx, "SELECT "+turnColumns+
			" FROM turns WHERE sid = ? AND request_id = ? ORDER BY num DESC LIMIT 1", life, id))
		if errors.Is(err, sql.ErrNoRows) {
			return sessions.Errorf(sessions.CodeNotFound, "No turn of this session has this request id.")
		}
		return err
	})
	return turn.Turn, err
}

// BusyTurns returns all turns that are not terminal, oldest first.
func (s *Store) BusyTurns(ctx context.Context) ([]sessions.BusyTurn, error) {
	var busy []sessions.BusyTurn
	err := s.readers.read(ctx, func(q querier) error {
		var turns []turnRow
		err := q.each(ctx, "SELECT "+turnColumns+` FROM turns INDEXED BY turns_busy
            WHERE status IN ('queued', 'running', 'waiting') ORDER BY num`, func(row scanner) error {
			t, err := scanTurn(row)
			turns = append(turns, t)
			return err
		})
		for i := 0; err == nil && i < len(turns); i++ {
			var session *sessionRow
			session, err = liveSession(ctx, q, turns[i].life)
			if err == nil && session != nil {
				busy = append(busy, sessions.BusyTurn{Turn: turns[i].Turn, Session: session.Session})
			}
		}
		return err
	})
	return busy, err
}
