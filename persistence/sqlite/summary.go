package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"agenthost/sessions"
)

// Summary returns the newest summary of a life; see the port.
func (s *Store) Summary(ctx context.Context, life sessions.Incarnation) (found sessions.Summary, err error) {
	err = s.ofLife(ctx, life, func(q querier, _ *sessionRow) error {
		found, err = summaryThrough(ctx, q, life, maxSeq)
		return err
	})
	return found, err
}

// summaryThrough returns the newest summary of a life that stands for no message
// after one; the zero value when there is none.
func summaryThrough(ctx context.Context, q querier, life sessions.Incarnation, through int64) (sessions.Summary, error) {
	var found sessions.Summary
	var b body
	err := q.row(ctx, `SELECT through_seq, kept_seq, body, crc FROM session_summaries
        WHERE sid = ? AND through_seq <= ? ORDER BY through_seq DESC LIMIT 1`, life, through).
		Scan(&found.ThroughSeq, &found.KeptSeq, &b.json, &b.crc)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return sessions.Summary{}, nil
	case err != nil:
		return sessions.Summary{}, err
	case !b.intact():
		return sessions.Summary{}, errDamaged
	}
	found.Text = string(b.json)
	return found, nil
}

// saveSummary stores the summary of a step, if it has one.
func saveSummary(t *tx, session *sessionRow, c sessions.CommitTurn) error {
	if c.Summary == (sessions.Summary{}) {
		return nil
	}
	life := c.Fence.Incarnation
	before, err := summaryThrough(always, t, life, maxSeq)
	if err != nil {
		return err
	}
	if err := c.Summary.Follow(before, session.MessageCount); err != nil {
		return err
	}
	return insertSummary(t, life, c.Summary, c.Now)
}

func insertSummary(t *tx, life sessions.Incarnation, s sessions.Summary, now sessions.Time) error {
	text := sealed([]byte(s.Text))
	_, err := t.exec("INSERT INTO session_summaries (sid, through_seq, kept_seq, created_ms, body, crc) VALUES (?, ?, ?, ?, ?, ?)",
		life, s.ThroughSeq, s.KeptSeq, now, text.json, text.crc)
	return err
}

// copySummary gives a fork the newest summary that stands for nothing but messages
// which the fork has of its origin.
func copySummary(t *tx, origin *sessionRow, fork sessions.Incarnation, c sessions.ForkSession) error {
	through := c.ThroughSeq
	if through == 0 {
		through = origin.MessageCount
	}
	found, err := summaryThrough(always, t, origin.Fence.Incarnation, through)
	if err != nil || found == (sessions.Summary{}) {
		return err
	}
	return insertSummary(t, fork, found, c.Now)
}
