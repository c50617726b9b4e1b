package sessions

import (
	"encoding/base64"
	"encoding/binary"
)

// Cursor is an opaque position in the frames of one life of a session. It
// carries the incarnation, so that it never applies to another life. "0" is the
// start of whatever life it is used with.
type Cursor string

// CursorStart is the position before the first kept frame.
const CursorStart Cursor = "0"

// CursorAt returns the position after frame seq of a life.
func CursorAt(life Incarnation, seq int64) Cursor {
	raw := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(life)), uint64(seq))
	return Cursor("c" + base64.RawURLEncoding.EncodeToString(raw))
}

// Position returns the life and the seq a cursor names; life 0 for CursorStart.
// A string that is no cursor is INVALID_REQUEST about field.
func (c Cursor) Position(field string) (life Incarnation, seq int64, err error) {
	if c == CursorStart {
		return 0, 0, nil
	}
	invalid := InvalidField(field, "This is no cursor; use one that the host gave, or \"0\".")
	if len(c) < 3 || c[0] != 'c' {
		return 0, 0, invalid
	}
	raw, decodeErr := base64.RawURLEncoding.Strict().DecodeString(string(c[1:]))
	if decodeErr != nil {
		return 0, 0, invalid
	}
	l, n := binary.Uvarint(raw)
	if n <= 0 {
		return 0, 0, invalid
	}
	s, m := binary.Uvarint(raw[n:])
	if m <= 0 || n+m != len(raw) || int64(l) <= 0 || int64(s) < 0 || CursorAt(Incarnation(l), int64(s)) != c {
		return 0, 0, invalid
	}
	return Incarnation(l), int64(s), nil
}
