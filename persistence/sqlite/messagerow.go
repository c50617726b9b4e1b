package sqlite

import (
	"context"

	"agenthost/sessions"
)

// messageColumns are those scanMessage reads, in its order.
const messageColumns = `seq, created_ms, body, crc`

func scanMessage(row scanner) (sessions.Message, error) {
	var seq int64
	var created sessions.Time
	var b body
	if err := row.Scan(&seq, &created, &b.json, &b.crc); err != nil {
		return sessions.Message{}, err
	}
	return decodeMessage(b, seq, created)
}

func insertMessage(t *tx, life sessions.Incarnation, seq int64, created sessions.Time, b body) error {
	_, err := t.exec("INSERT INTO session_messages (sid, seq, created_ms, body, crc) VALUES (?, ?, ?, ?, ?)",
		life, seq, created, b.json, b.crc)
	return err
}

// messageAt returns one message of a life.
func messageAt(ctx context.Context, q querier, life sessions.Incarnation, seq int64) (sessions.Message, error) {
	return scanMessage(q.row(ctx, "SELECT "+messageColumns+" FROM session_messages WHERE sid = ? AND seq = ?", life, seq))
}
