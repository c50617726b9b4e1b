package sqlite

import (
	"encoding/base64"
	"encoding/binary"

	"agenthost/sessions"
)

// defaultPage is the size of a page whose query names none.
const defaultPage = 50

func pageLimit(limit int) int {
	if limit <= 0 {
		return defaultPage
	}
	return limit
}

// cut drops the row that was read only to know that it is there.
func cut[R any](rows []R, limit int) ([]R, bool) {
	if limit > 0 && len(rows) > limit {
		return rows[:limit], true
	}
	return rows, false
}

// mark is the place behind one row of a list: two numbers, and a letter for the
// list that they mean something in.
type mark struct {
	list byte
	a, b int64
}

func (m mark) cursor() string {
	raw := binary.AppendVarint(binary.AppendVarint([]byte{m.list}, m.a), m.b)
	return base64.RawURLEncoding.EncodeToString(raw)
}

// markAt returns the place that a cursor of a list names.
func markAt(cursor string, list byte) (mark, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) < 3 {
		return mark{}, sessions.ErrCursor
	}
	a, n := binary.Varint(raw[1:])
	b, _ := binary.Varint(raw[1+max(n, 0):])
	m := mark{list, a, b}
	if m.cursor() != cursor {
		return mark{}, sessions.ErrCursor
	}
	return m, nil
}
