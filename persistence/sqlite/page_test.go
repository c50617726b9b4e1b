package sqlite

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func TestCursorNamesAPlaceInItsList(t *testing.T) {
	for _, m := range []mark{{'t', 1, 2}, {'t', -1, maxSeq}, {'t', 0, 0}} {
		got, err := markAt(m.cursor(), 't')
		require.NoError(t, err)
		require.Equal(t, m, got)
	}
	whole := mark{'t', 300, 400}.cursor()
	for name, cursor := range map[string]string{
		"of another list":    mark{'r', 300, 400}.cursor(),
		"cut short":          whole[:len(whole)-2],
		"with more behind":   base64.RawURLEncoding.EncodeToString([]byte{'t', 2, 4, 6}),
		"written otherwise":  base64.RawURLEncoding.EncodeToString([]byte{'t', 0x82, 0x00, 2}),
		"a number too large": base64.RawURLEncoding.EncodeToString([]byte("t\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")),
		"not of its letters": "%%%%",
	} {
		_, err := markAt(cursor, 't')
		require.ErrorIs(t, err, sessions.ErrCursor, name)
	}
}
