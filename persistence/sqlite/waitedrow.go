package sqlite

import (
	"context"
	"encoding/json"

	"agenthost/sessions"
)

// waitedRow is a call that waits for a client, or had an answer of one.
type waitedRow struct {
	turn   sessions.TurnID
	kind   sessions.PendingKind
	digest []byte // of the answer, nil while there is none
}

// waitedBody is what is stored of a call beside its columns. The arguments are a
// string for the reason that messageBody gives.
type waitedBody struct {
	Path  string        `json:"path"`
	Args  string        `json:"args,omitempty"`
	Since sessions.Time `json:"since"`
}

// answerBody is an answer as stored; "" is no output.
type answerBody struct {
	Output  string  `json:"output,omitempty"`
	Error   *string `json:"error,omitempty"`
	Approve *bool   `json:"approve,omitempty"`
}

func encodeWaited(p sessions.Pending) (body, error) {
	data, err := encode(waitedBody{p.Path, string(p.Args), p.Since})
	return sealed(data), err
}

// decodeWaited opens what encodeWaited sealed, else SESSION_DAMAGED.
func decodeWaited(id sessions.CallID, kind sessions.PendingKind, b body) (sessions.Pending, error) {
	var stored waitedBody
	if !b.intact() || json.Unmarshal(b.json, &stored) != nil {
		return sessions.Pending{CallID: id, Kind: kind}, errDamaged
	}
	return sessions.Pending{CallID: id, Kind: kind, Path: stored.Path, Args: rawOf(stored.Args), Since: stored.Since}, nil
}

func encodeAnswer(a sessions.CallAnswer) (body, error) {
	data, err := encode(answerBody{string(a.Output), a.Error, a.Approve})
	return sealed(data), err
}

// decodeAnswer opens what encodeAnswer sealed, else SESSION_DAMAGED.
func decodeAnswer(b body) (sessions.CallAnswer, error) {
	var stored answerBody
	if !b.intact() || json.Unmarshal(b.json, &stored) != nil {
		return sessions.CallAnswer{}, errDamaged
	}
	return sessions.CallAnswer{Output: rawOf(stored.Output), Error: stored.Error, Approve: stored.Approve}, nil
}

// readWaiting fills in what a session waits for. A call whose body is damaged is
// told without it: the session is damaged, and others in a list are not.
func (r *sessionRow) readWaiting(ctx context.Context, q querier) error {
	if r.Status != sessions.StatusWaiting {
		return nil
	}
	return q.each(ctx, `SELECT call_id, kind, body, crc FROM waited_calls
        WHERE sid = ? AND waits = 1 AND digest IS NULL ORDER BY place`, func(row scanner) error {
		var id sessions.CallID
		var kind sessions.PendingKind
		var b body
		if err := row.Scan(&id, &kind, &b.json, &b.crc); err != nil {
			return err
		}
		call, damage := decodeWaited(id, kind, b)
		r.damaged = r.damaged || damage != nil
		r.Pending = append(r.Pending, call)
		return nil
	}, r.Fence.Incarnation)
}

// findWaited returns what a session knows of a call: as much as it has waited for.
func findWaited(t *tx, life sessions.Incarnation, id sessions.CallID) (found []waitedRow, err error) {
	err = t.each(always, `SELECT t.turn_id, w.kind, w.digest FROM waited_calls w JOIN turns t ON t.num = w.turn
        WHERE w.sid = ? AND w.call_id = ?`, func(row scanner) error {
		var w waitedRow
		err := row.Scan(&w.turn, &w.kind, &w.digest)
		found = append(found, w)
		return err
	}, life, id)
	return found, err
}

func insertWaited(t *tx, turn turnRow, place int, p sessions.Pending, b body) error {
	_, err := t.exec("INSERT INTO waited_calls (sid, turn, place, call_id, kind, waits, body, crc) VALUES (?, ?, ?, ?, ?, 1, ?, ?)",
		turn.life, turn.num, place, p.CallID, p.Kind, b.json, b.crc)
	return err
}

// endWaited forgets what a session waits for, but by what its answers are told
// apart.
func endWaited(t *tx, life sessions.Incarnation) error {
	if _, err := t.exec("DELETE FROM waited_calls WHERE sid = ? AND waits = 1 AND digest IS NULL", life); err != nil {
		return err
	}
	_, err := t.exec(`UPDATE waited_calls SET waits = 0, body = x'', crc = 0, answer = NULL, answer_crc = NULL
        WHERE sid = ? AND waits = 1`, life)
	return err
}
