package sqlite

import (
	"context"

	"agenthost/sessions"
)

// turnRow is a turn with its place in the store.
type turnRow struct {
	sessions.Turn
	num  int64
	life sessions.Incarnation
	// steered is how many texts it was ever sent, so that a turn without any need
	// not look for them.
	steered int64
}

const turnColumns = `num, sid, turn_id, request_id, status, created_ms, started_ms, ended_ms, iterations, attempts,
    input_tokens, output_tokens, cached_tokens, calls, error, max_iterations, prompt_timeout_ms,
    first_frame, last_frame, user_seq, final_seq, inference, steered,
    wait_timeout_ms, waited_ms, waiting_since_ms, resumed_ms`

const turnByID = `SELECT ` + turnColumns + ` FROM turns WHERE turn_id = ?`

func scanTurn(row scanner) (turnRow, error) {
	var t turnRow
	var failure, inference string
	err := row.Scan(&t.num, &t.life, &t.TurnID, &t.RequestID, &t.Status, &t.CreatedAt, &t.StartedAt, &t.EndedAt,
		&t.Iterations, &t.Attempts, &t.Usage.InputTokens, &t.Usage.OutputTokens, &t.Usage.CachedTokens, &t.Usage.Calls,
		&failure, &t.Limits.MaxIterations, &t.Limits.PromptTimeoutMs, &t.FirstFrame, &t.LastFrame, &t.UserSeq, &t.FinalSeq,
		&inference, &t.steered, &t.Limits.WaitTimeoutMs, &t.WaitedMs, &t.WaitingSince, &t.ResumedAt)
	if err != nil {
		return t, err
	}
	if err := decodeText(inference, &t.Inference); err != nil {
		return t, err
	}
	return t, decodeText(failure, &t.Error)
}

func findTurn(ctx context.Context, q querier, id sessions.TurnID) (turnRow, error) {
	return scanTurn(q.row(ctx, turnByID, id))
}

// insertTurn stores a turn that has just started, or is queued, and returns its num.
func insertTurn(t *tx, life sessions.Incarnation, turn sessions.Turn) (int64, error) {
	inference, err := encodeInference(turn.Inference)
	if err != nil {
		return 0, err
	}
	return t.insert(`INSERT INTO turns (sid, turn_id, request_id, status, created_ms, started_ms, max_iterations,
            prompt_timeout_ms, wait_timeout_ms, first_frame, user_seq, inference) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		life, turn.TurnID, turn.RequestID, turn.Status, turn.CreatedAt, turn.StartedAt, turn.Limits.MaxIterations,
		turn.Limits.PromptTimeoutMs, turn.Limits.WaitTimeoutMs, turn.FirstFrame, turn.UserSeq, inference)
}

// saveTurn stores what a commit changes of a turn.
func saveTurn(t *tx, turn turnRow) error {
	failure, err := encodeError(turn.Error)
	if err != nil {
		return err
	}
	_, err = t.exec(`UPDATE turns SET status = ?, ended_ms = ?, iterations = ?, attempts = ?, input_tokens = ?, output_tokens = ?,
            cached_tokens = ?, calls = ?, error = ?, last_frame = ?, final_seq = ?, waited_ms = ?, waiting_since_ms = ?,
            resumed_ms = ? WHERE num = ?`,
		turn.Status, turn.EndedAt, turn.Iterations, turn.Attempts, turn.Usage.InputTokens, turn.Usage.OutputTokens,
		turn.Usage.CachedTokens, turn.Usage.Calls, failure, turn.LastFrame, turn.FinalSeq, turn.WaitedMs, turn.WaitingSince,
		turn.ResumedAt, turn.num)
	return err
}
