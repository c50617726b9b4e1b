package memory

import (
	"encoding/base64"
	"encoding/json"

	"agenthost/sessions"
)

const defaultPage = 50

// cursor is the place behind one item of a list that is read page by page.
type cursor struct {
	List  string // what the list is of
	At    int64
	Num   int64
	ID    sessions.SessionID
	Owner sessions.Owner
}

func (c cursor) String() string {
	text, _ := json.Marshal(c) // of strings and numbers: cannot fail
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseCursor returns the place that a cursor names, nil for the start, and
// INVALID_REQUEST when it is of another list.
func parseCursor(text, list string) (*cursor, error) {
	if text == "" {
		return nil, nil
	}
	var c cursor
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || json.Unmarshal(data, &c) != nil || c.List != list || c.String() != text {
		return nil, sessions.ErrCursor
	}
	return &c, nil
}

// page returns the items behind a cursor, so many of a sorted list, and the
// cursor behind them, "" when they are the last.
func page[T any](sorted []T, from *cursor, limit int, place func(T) cursor, compare func(a, b cursor) int) ([]T, string) {
	if limit <= 0 {
		limit = defaultPage
	}
	for from != nil && len(sorted) > 0 && compare(place(sorted[0]), *from) <= 0 {
		sorted = sorted[1:]
	}
	if len(sorted) <= limit {
		return sorted, ""
	}
	return sorted[:limit], place(sorted[limit-1]).String()
}
