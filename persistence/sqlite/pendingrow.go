package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"agenthost/sessions"
)

// pendingRow is a prompt that is not in the history yet.
type pendingRow struct {
	num        int64
	turn       sessions.Turn // the queued turn it is of, or will be of
	waitsFor   int64         // num of the turn whose next model call reads it; 0 when it is queued
	place      int64         // queued turns start in the order of place and num
	steers     bool          // it was to steer a turn
	claimTTLMs int64
	body       body
}

const selectPending = `SELECT num, turn_id, request_id, waits_for, place, steers, created_ms, claim_ttl_ms,
        max_iterations, prompt_timeout_ms, wait_timeout_ms, inference, body, crc FROM pending_prompts WHERE sid = ? AND `

func scanPending(row scanner) (pendingRow, error) {
	var p pendingRow
	var inference string
	err := row.Scan(&p.num, &p.turn.TurnID, &p.turn.RequestID, &p.waitsFor, &p.place, &p.steers, &p.turn.CreatedAt,
		&p.claimTTLMs, &p.turn.Limits.MaxIterations, &p.turn.Limits.PromptTimeoutMs, &p.turn.Limits.WaitTimeoutMs,
		&inference, &p.body.json, &p.body.crc)
	if err != nil {
		return p, err
	}
	p.turn.Status = sessions.TurnIsQueued
	return p, decodeText(inference, &p.turn.Inference)
}

func insertPending(t *tx, life sessions.Incarnation, p pendingRow) error {
	inference, err := encodeInference(p.turn.Inference)
	if err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO pending_prompts (sid, turn_id, request_id, waits_for, place, steers, created_ms, claim_ttl_ms,
            max_iterations, prompt_timeout_ms, wait_timeout_ms, inference, body, crc) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		life, p.turn.TurnID, p.turn.RequestID, p.waitsFor, p.place, p.steers, p.turn.CreatedAt, p.claimTTLMs,
		p.turn.Limits.MaxIterations, p.turn.Limits.PromptTimeoutMs, p.turn.Limits.WaitTimeoutMs, inference, p.body.json, p.body.crc)
	return err
}

func removePending(t *tx, p pendingRow) error {
	_, err := t.exec("DELETE FROM pending_prompts WHERE num = ?", p.num)
	return err
}

// message returns the user message as it enters the history of a turn.
func (p pendingRow) message(of sessions.TurnID, seq int64, now sessions.Time) (sessions.Message, error) {
	m, err := decodeMessage(p.body, seq, now)
	m.TurnID = of
	return m, err
}

// findPending returns the prompt of a request, nil if it has none.
func findPending(t *tx, life sessions.Incarnation, id sessions.RequestID) (*pendingRow, error) {
	return onePending(t.row(always, selectPending+"request_id = ?", life, id))
}

// firstQueued returns the prompt whose turn is to start next, nil if there is none.
func firstQueued(t *tx, life sessions.Incarnation) (*pendingRow, error) {
	return onePending(t.row(always, selectPending+"waits_for = 0 ORDER BY place, num LIMIT 1", life))
}

func onePending(row scanner) (*pendingRow, error) {
	p, err := scanPending(row)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &p, err
}

// pendingOf returns the texts that wait for a turn, oldest first, or with 0 the
// prompts that are queued, in the order of their start.
func pendingOf(t *tx, life sessions.Incarnation, turn int64) (found []pendingRow, err error) {
	err = t.each(always, selectPending+"waits_for = ? ORDER BY place, num", func(row scanner) error {
		p, err := scanPending(row)
		found = append(found, p)
		return err
	}, life, turn)
	return found, err
}

// waiting counts the texts that wait for a turn.
func waiting(ctx context.Context, q querier, life sessions.Incarnation, turn int64) (n int, err error) {
	err = q.row(ctx, "SELECT count(*) FROM pending_prompts WHERE sid = ? AND waits_for = ?", life, turn).Scan(&n)
	return n, err
}

// front returns the place before all that are queued.
func front(first *pendingRow) int64 {
	if first == nil {
		return -1
	}
	return first.place - 1
}
