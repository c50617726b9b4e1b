package sqlite

import (
	"context"
	"slices"

	"agenthost/sessions"
)

// transcript is a session's messages from the first on, as a fork has them:
// without the turns, which are the origin's.
type transcript struct {
	messages []copiedMessage
	last     []sessions.Message // from the last one with calls on
	preview  string
}

type copiedMessage struct {
	created sessions.Time
	body    body
}

// clone returns a transcript that can go on apart from this one.
func (c *transcript) clone() transcript {
	return transcript{slices.Clip(c.messages), slices.Clip(c.last), c.preview}
}

// read goes on with a life's messages, up to one of them or, with 0, to all.
func (c *transcript) read(ctx context.Context, q querier, life sessions.Incarnation, through int64) error {
	if through <= 0 {
		through = maxSeq
	}
	return q.each(ctx, "SELECT "+messageColumns+" FROM session_messages WHERE sid = ? AND seq > ? AND seq <= ? ORDER BY seq",
		func(row scanner) error {
			m, err := scanMessage(row)
			if err != nil {
				return err
			}
			return c.add(m)
		}, life, len(c.messages), through)
}

// add appends a copy of a message.
func (c *transcript) add(m sessions.Message) error {
	m.TurnID = ""
	b, err := encodeMessage(m)
	if err != nil {
		return err
	}
	c.messages = append(c.messages, copiedMessage{m.CreatedAt, b})
	if len(m.ToolCalls) > 0 {
		c.last = nil
	}
	c.last = append(c.last, m)
	if c.preview == "" && m.Role == sessions.RoleUser {
		c.preview = sessions.Preview(m.Content)
	}
	return nil
}

// close gives the calls that are open at the end their results.
func (c *transcript) close(now sessions.Time) error {
	for _, m := range sessions.CutResults(c.last) {
		m.CreatedAt = now
		if err := c.add(m); err != nil {
			return err
		}
	}
	return nil
}

// insert stores the messages as those of a life that has none.
func (c *transcript) insert(t *tx, life sessions.Incarnation) error {
	rows := make([][]any, len(c.messages))
	for i, m := range c.messages {
		rows[i] = []any{life, i + 1, m.created, m.body.json, m.body.crc}
	}
	return t.insertAll("INSERT INTO session_messages (sid, seq, created_ms, body, crc) VALUES ", rows, "")
}
