package main

import (
	"encoding/json"
	"hash/crc32"
	"time"

	"github.com/google/uuid"
)

// floorSession is a session as the floor's caller keeps it: the floor reads
// nothing, so the counts that its rows continue are the caller's.
type floorSession struct {
	f        *floor
	sid      int64
	key      string
	messages int64
	frames   int64
	turns    int64
}

// newSession stores the row of a session.
func (f *floor) newSession(key string) (*floorSession, error) {
	s := &floorSession{f: f, key: key}
	now := time.Now().UnixMilli()
	err := f.commit(func(f *floor) error {
		if _, err := f.exec("INSERT INTO owners (owner) VALUES ('local') ON CONFLICT (owner) DO NOTHING"); err != nil {
			return err
		}
		r, err := f.exec(`INSERT INTO sessions (owner, generation, id, target_key, profile_key, epoch, status, title,
                labels, parent_id, parent_location, created_ms, last_active_ms)
            VALUES ('local', 1, ?, ?, 'default', 1, 'created', '', '{}', '', '', ?, ?)`, uuid.NewString(), key, now, now)
		if err != nil {
			return err
		}
		s.sid, err = r.LastInsertId()
		return err
	})
	return s, err
}

// floorTurn is a turn between its two transactions.
type floorTurn struct {
	s                 *floorSession
	num               int64
	id, request, text string
}

// floorMessage is a stored body.
type floorMessage struct {
	Role    string      `json:"role"`
	Content []floorText `json:"content"`
	TurnID  string      `json:"turnId"`
}

type floorText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func crcOf(body []byte) int64 { return int64(crc32.Checksum(body, castagnoli)) }

// accept stores a prompt: claim, session, turn, user message and three frames.
func (s *floorSession) accept(request, text string, fingerprint []byte) (*floorTurn, error) {
	t := &floorTurn{s: s, id: uuid.Must(uuid.NewV7()).String(), request: request, text: text}
	body, err := json.Marshal(floorMessage{"user", []floorText{{"text", text}}, t.id})
	if err != nil {
		return nil, err
	}
	s.messages++
	first, now := s.frames+1, time.Now().UnixMilli()
	s.frames += 3
	return t, s.f.commit(func(f *floor) error {
		if _, err := f.exec(`INSERT INTO dedupe_claims (owner, request_id, sid, fingerprint, turn_id, appended, expires_ms)
            VALUES ('local', ?, ?, ?, ?, 0, NULL)`, request, s.sid, fingerprint, t.id); err != nil {
			return err
		}
		if err := s.save(f, "running", t.id, request, text, now); err != nil {
			return err
		}
		r, err := f.exec(`INSERT INTO turns (sid, turn_id, request_id, status, created_ms, started_ms, max_iterations,
            prompt_timeout_ms, first_frame, user_seq) VALUES (?, ?, ?, 'running', ?, ?, 25, 300000, ?, ?)`,
			s.sid, t.id, request, now, now, first, s.messages)
		if err != nil {
			return err
		}
		if t.num, err = r.LastInsertId(); err != nil {
			return err
		}
		if err := s.insertMessage(f, now, body); err != nil {
			return err
		}
		_, err = f.exec(`INSERT INTO activity_frames (sid, seq, turn, type, at_ms, message_seq, body, crc)
            VALUES (?, ?, ?, 'accepted', ?, 0, x'', 0), (?, ?, ?, 'started', ?, 0, x'', 0), (?, ?, ?, 'message', ?, ?, x'', 0)`,
			s.sid, first, t.num, now, s.sid, first+1, t.num, now, s.sid, first+2, t.num, now, s.messages)
		return err
	})
}

// end stores the answer: message, four frames, turn, session, usage and claim.
func (t *floorTurn) end(answer string) error {
	s := t.s
	body, err := json.Marshal(floorMessage{"assistant", []floorText{{"text", answer}}, t.id})
	if err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{"step": 1, "attempt": 1, "offset": 0, "text": answer})
	if err != nil {
		return err
	}
	used := []byte(`{"usage":{"inputTokens":20,"outputTokens":20,"cachedTokens":0,"calls":1}}`)
	s.messages++
	s.turns++
	first, now := s.frames+1, time.Now().UnixMilli()
	s.frames += 4
	return s.f.commit(func(f *floor) error {
		if err := s.save(f, "idle", "", "", t.text, now); err != nil {
			return err
		}
		if _, err := f.exec("UPDATE dedupe_claims SET expires_ms = ? WHERE owner = 'local' AND request_id = ?", now+300_000, t.request); err != nil {
			return err
		}
		if _, err := f.exec(`UPDATE turns SET status = 'completed', ended_ms = ?, iterations = 1, input_tokens = 20, output_tokens = 20,
            calls = 1, last_frame = ?, final_seq = ? WHERE num = ?`, now, s.frames, s.messages, t.num); err != nil {
			return err
		}
		if err := s.insertMessage(f, now, body); err != nil {
			return err
		}
		if _, err := f.exec(`INSERT INTO activity_frames (sid, seq, turn, type, at_ms, message_seq, body, crc)
            VALUES (?, ?, ?, 'text', ?, 0, ?, ?), (?, ?, ?, 'usage', ?, 0, ?, ?),
                (?, ?, ?, 'message', ?, ?, x'', 0), (?, ?, ?, 'completed', ?, 0, x'', 0)`,
			s.sid, first, t.num, now, text, crcOf(text), s.sid, first+1, t.num, now, used, crcOf(used),
			s.sid, first+2, t.num, now, s.messages, s.sid, first+3, t.num, now); err != nil {
			return err
		}
		return s.addUsage(f, now)
	})
}

func (s *floorSession) save(f *floor, status, turn, request, preview string, now int64) error {
	_, err := f.exec(`UPDATE sessions SET epoch = 2, status = ?, preview = ?, turn_count = ?, message_count = ?,
            frame_count = ?, last_active_ms = ?, active_turn = ?, active_request = ?, active_started_ms = ?,
            input_tokens = ?, output_tokens = ?, calls = ? WHERE sid = ? AND deleted_ms IS NULL`,
		status, preview, s.turns, s.messages, s.frames, now, turn, request, now, 20*s.turns, 20*s.turns, s.turns, s.sid)
	return err
}

func (s *floorSession) insertMessage(f *floor, now int64, body []byte) error {
	_, err := f.exec("INSERT INTO session_messages (sid, seq, created_ms, body, crc) VALUES (?, ?, ?, ?, ?)",
		s.sid, s.messages, now, body, crcOf(body))
	return err
}

func (s *floorSession) addUsage(f *floor, now int64) error {
	const sums = ` VALUES (?, ?, 'instant', 20, 20, 0, 1) ON CONFLICT DO UPDATE SET
        input_tokens = input_tokens + 20, output_tokens = output_tokens + 20, calls = calls + 1`
	day := now / 86_400_000
	if _, err := f.exec("INSERT INTO usage (sid, day, model, input_tokens, output_tokens, cached_tokens, calls)"+sums, s.sid, day); err != nil {
		return err
	}
	_, err := f.exec("INSERT INTO owner_usage (owner, day, model, input_tokens, output_tokens, cached_tokens, calls)"+sums, "local", day)
	return err
}
