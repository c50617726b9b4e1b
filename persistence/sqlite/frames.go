package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"agenthost/sessions"
)

// Frames returns a range of a life's frames; see the port.
func (s *Store) Frames(ctx context.Context, life sessions.Incarnation, q sessions.FrameQuery) (sessions.FramePage, error) {
	var page sessions.FramePage
	var doubtful bool
	err := s.ofLife(ctx, life, func(db querier, session *sessionRow) error {
		page = sessions.FramePage{Last: session.LastFrame}
		r, err := rangeOf(ctx, db, session, q)
		if err != nil || r.empty() {
			return err
		}
		kept, err := s.readFrames(ctx, db, session, r)
		page.Frames, page.Missing, page.HasMore = kept.frames, kept.missing, kept.more
		doubtful = session.filed && len(kept.missing) > 0
		return err
	})
	if err == nil && doubtful {
		// Files may go under a reader's eyes when their session is deleted.
		err = s.ofLife(ctx, life, func(querier, *sessionRow) error { return nil })
	}
	if err != nil {
		return sessions.FramePage{}, err
	}
	return page, nil
}

// rangeOf finds the seqs that a query is about. The frames of one turn are
// looked for between its first and its last only.
func rangeOf(ctx context.Context, db querier, session *sessionRow, q sessions.FrameQuery) (frameRange, error) {
	r := frameRange{life: session.Fence.Incarnation, from: max(q.AfterSeq, 0) + 1, to: session.LastFrame,
		descending: q.Descending, limit: q.Limit}
	if q.BeforeSeq > 0 {
		r.to = min(r.to, q.BeforeSeq-1)
	}
	if q.TurnID == "" {
		return r, nil
	}
	turn, err := findTurn(ctx, db, q.TurnID)
	if errors.Is(err, sql.ErrNoRows) || err == nil && turn.life != r.life {
		return frameRange{from: 1}, nil
	}
	r.turn, r.from = turn.num, max(r.from, turn.FirstFrame)
	if turn.LastFrame > 0 {
		r.to = min(r.to, turn.LastFrame)
	}
	return r, err
}

// readFrames reads a range, and tells what retention has cut of it.
func (s *Store) readFrames(ctx context.Context, db querier, session *sessionRow, r frameRange) (keptFrames, error) {
	from := r.from
	r.from = max(from, session.firstFrame)
	var k keptFrames
	var err error
	if !r.empty() {
		k, err = keeperOf(session, s.files).read(ctx, db, r)
	}
	switch lost := min(r.to, session.firstFrame-1); {
	case err != nil || from > lost:
	case !r.descending:
		front := keptFrames{}
		front.lack(from, lost)
		for _, g := range k.missing {
			front.lack(g.From, g.To)
		}
		k.missing = front.missing
	case !k.more:
		k.lack(from, lost)
	}
	return k, err
}
