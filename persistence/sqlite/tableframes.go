package sqlite

import (
	"context"
	"database/sql"
	"strings"

	"agenthost/sessions"
)

// tableFrames keeps frames as rows of activity_frames. They are as durable as
// everything else in the database.
type tableFrames struct{}

// maxFrameRows is how many frames one statement inserts at most.
const maxFrameRows = 16

// frameInserts[n] inserts n frames.
var frameInserts = func() (statements [maxFrameRows + 1]string) {
	for n := 1; n <= maxFrameRows; n++ {
		statements[n] = "INSERT INTO activity_frames (sid, seq, turn, type, at_ms, message_seq, body, crc) VALUES " +
			strings.TrimSuffix(strings.Repeat("(?, ?, ?, ?, ?, ?, ?, ?), ", n), ", ")
	}
	return statements
}()

func (tableFrames) append(t *tx, b frameBatch) error {
	seq, rows := b.first, b.rows
	for len(rows) > 0 {
		n := min(len(rows), maxFrameRows)
		args := make([]any, 0, 8*n)
		for _, f := range rows[:n] {
			args = append(args, b.life, seq, b.turn, string(f.kind), b.at, f.messageSeq, f.body.json, f.body.crc)
			seq++
		}
		if _, err := t.exec(frameInserts[n], args...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

func (tableFrames) drop(t *tx, life sessions.Incarnation, below int64) error {
	_, err := t.exec("DELETE FROM activity_frames WHERE sid = ? AND seq < ?", life, below)
	return err
}

// selectFrames joins what frames refer to: their turn and their message.
const selectFrames = `SELECT f.seq, f.type, f.at_ms, f.body, f.crc, coalesce(t.turn_id, ''), coalesce(t.request_id, ''),
        f.message_seq, m.created_ms, m.body, m.crc
    FROM activity_frames f
    LEFT JOIN turns t ON t.num = f.turn
    LEFT JOIN session_messages m ON m.sid = f.sid AND m.seq = f.message_seq
    WHERE f.sid = ?`

func (tableFrames) read(ctx context.Context, q querier, r frameRange) (keptFrames, error) {
	var k keptFrames
	span := seqRange{r.from - 1, r.to + 1, r.descending, r.limit}
	query, args := selectFrames, []any{r.life}
	if r.turn != 0 {
		query, args = selectFrames+" AND f.turn = ?", []any{r.life, r.turn}
	}
	err := q.each(ctx, query+span.clause("f.seq"), func(row scanner) error {
		f, err := scanFrame(row, r.life)
		k.frames = append(k.frames, f)
		return err
	}, span.args(args...)...)
	k.cut(r)
	return k, err
}

func scanFrame(row scanner, life sessions.Incarnation) (sessions.Frame, error) {
	var kind sessions.FrameType
	var own, message body
	var messageSeq int64
	var created sql.Null[sessions.Time]
	var messageCRC sql.Null[int64]
	var f sessions.Frame
	err := row.Scan(&f.Seq, &kind, &f.At, &own.json, &own.crc, &f.TurnID, &f.RequestID,
		&messageSeq, &created, &message.json, &messageCRC)
	if err != nil {
		return f, err
	}
	f.Cursor = sessions.CursorAt(life, f.Seq)
	if messageSeq > 0 {
		message.crc = messageCRC.V
		m, err := decodeMessage(message, messageSeq, created.V)
		f.Body = sessions.MessageAppended{Message: m}
		return f, err
	}
	if !own.intact() {
		return f, errDamaged
	}
	f.Body, err = decodeFrame(kind, own.json)
	return f, err
}
