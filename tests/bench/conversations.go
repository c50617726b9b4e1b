package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"time"
)

// conversations are sessions with a history, made by SQL alone.
type conversations struct {
	sessions   int
	messages   int  // of each, half of them prompts with a turn
	framed     int  // of how many of its turns a session has the frames
	tree       bool // each session has up to ten children
	claimEvery int  // every so many sessions the last request is still remembered
}

// fill statements take: 1 sessions, 2 messages, 3 turns with frames, 4 now in ms,
// 5 prompt, 6 message, 7 its checksum, 8 text frame, 9 its checksum, 10 tree,
// 11 claimEvery.
var fillStatements = []string{
	`INSERT INTO owners (owner) VALUES ('local') ON CONFLICT (owner) DO NOTHING`,
	`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
        INSERT INTO sessions (sid, owner, generation, id, target_key, profile_key, epoch, status, title, preview, labels,
            parent_id, parent_location, turn_count, message_count, frame_count, first_frame, created_ms, last_active_ms)
        SELECT i + 1, 'local', 1, 'talk-' || i, 'talk-' || i, 'default', 2, 'idle', 'A title', ?5, '{}',
            CASE WHEN ?10 AND i > 0 THEN 'talk-' || ((i - 1) / 10) ELSE '' END, CASE WHEN ?10 AND i > 0 THEN 'local' ELSE '' END,
            ?2 / 2, ?2, ?2 / 2 * 7, (?2 / 2 - ?3) * 7 + 1, ?4 - i, ?4 - i FROM n`,
	`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
        INSERT INTO session_messages (sid, seq, created_ms, body, crc) SELECT sid, i, ?4, ?6, ?7 FROM sessions CROSS JOIN n`,
	`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2 / 2)
        INSERT INTO turns (num, sid, turn_id, request_id, status, created_ms, started_ms, ended_ms, iterations, input_tokens, output_tokens,
            calls, max_iterations, prompt_timeout_ms, first_frame, last_frame, user_seq, final_seq)
        SELECT (sid - 1) * (?2 / 2) + i, sid, 'a-turn-id-as-long-as-all-' || sid || '-' || i, 'a-request-' || sid || '-' || i, 'completed', ?4, ?4, ?4,
            1, 20, 20, 1, 25, 300000, 7 * i - 6, 7 * i, 2 * i - 1, 2 * i FROM sessions CROSS JOIN n`,
	`WITH RECURSIVE n (i) AS (SELECT (?2 / 2 - ?3) * 7 + 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2 / 2 * 7)
        INSERT INTO activity_frames (sid, seq, turn, type, at_ms, message_seq, body, crc)
        SELECT sid, i, (sid - 1) * (?2 / 2) + (i + 6) / 7, CASE i % 7 WHEN 4 THEN 'text' ELSE 'message' END, ?4, 0,
            CASE i % 7 WHEN 4 THEN ?8 ELSE x'' END, CASE i % 7 WHEN 4 THEN ?9 ELSE 0 END FROM sessions CROSS JOIN n`,
	`INSERT INTO usage (sid, day, model, input_tokens, output_tokens, cached_tokens, calls)
        SELECT sid, ?4 / 86400000, 'instant', 20 * ?2, 20 * ?2, 0, ?2 / 2 FROM sessions`,
	`INSERT INTO dedupe_claims (owner, request_id, sid, fingerprint, turn_id, expires_ms)
        SELECT 'local', 'a-request-' || sid || '-' || (?2 / 2), sid, zeroblob(32), 'a-turn-id-as-long-as-all-' || sid || '-' || (?2 / 2), ?4 + 3600000
        FROM sessions WHERE sid % ?11 = 0`,
	`INSERT INTO sub_session_refs (sid, child_id, location, profile_key, name, host, turn_id, call_id, status, created_ms)
        SELECT p.sid, c.id, 'local', 'default', '', '', '', '', '', ?4 FROM sessions c JOIN sessions p ON p.owner = c.owner AND p.id = c.parent_id`,
}

// fill makes a database with conversations.
func (c conversations) fill(ctx context.Context, file string) error {
	body, err := json.Marshal(floorMessage{"assistant", []floorText{{"text", answerText}}, "a-turn-id-as-long-as-all-of-them"})
	if err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{"step": 1, "attempt": 1, "offset": 0, "text": answerText})
	if err != nil {
		return err
	}
	f, err := openFloor(ctx, file)
	if err != nil {
		return err
	}
	args := []any{c.sessions, c.messages, c.framed, time.Now().UnixMilli(), promptText, body, crcOf(body), text, crcOf(text), c.tree, c.claimEvery}
	err = f.commit(func(f *floor) error {
		for _, statement := range fillStatements {
			// SQLite takes as many as the highest that the statement names.
			if _, err := f.conn.ExecContext(ctx, statement, args...); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, f.close())
}

// copyFile copies a database that nobody has open, and waits until it is on disk:
// a sync in the lap would pay for it.
func copyFile(from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Sync(), target.Close())
}
