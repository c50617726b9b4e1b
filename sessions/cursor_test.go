package sessions_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"agenthost/sessions"
)

func TestCursorRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		life := sessions.Incarnation(rapid.Int64Range(1, math.MaxInt64).Draw(t, "life"))
		seq := rapid.Int64Range(0, math.MaxInt64).Draw(t, "seq")
		gotLife, gotSeq, err := sessions.CursorAt(life, seq).Position("/after")
		require.NoError(t, err)
		require.Equal(t, life, gotLife)
		require.Equal(t, seq, gotSeq)
	})
}

func TestCursorStart(t *testing.T) {
	life, seq, err := sessions.CursorStart.Position("/after")
	require.NoError(t, err)
	require.Zero(t, life)
	require.Zero(t, seq)
}

func TestCursorsDifferByLifeAndSeq(t *testing.T) {
	require.NotEqual(t, sessions.CursorAt(1, 2), sessions.CursorAt(2, 2))
	require.NotEqual(t, sessions.CursorAt(1, 2), sessions.CursorAt(1, 3))
	require.NotEqual(t, sessions.CursorAt(1, 23), sessions.CursorAt(12, 3))
}

func TestCursorRefuses(t *testing.T) {
	good := string(sessions.CursorAt(3, 70_000))
	for _, bad := range []string{
		"", "1", "00", "-1", "c", "cA", "c0", "c!!", "x" + good[1:], good[1:], good + "A", good + "=", good[:len(good)-1],
		" " + good, good + "\n", strings.ToUpper(good[:1]) + good[1:], "cAAA", "cAA", "cgAABAA", "c" + strings.Repeat("_", 60),
		string(sessions.CursorAt(-1, 2)), string(sessions.CursorAt(2, -1)), string(sessions.CursorAt(0, 2)),
	} {
		life, seq, err := sessions.Cursor(bad).Position("/after")
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err), "%q gave %d, %d", bad, life, seq)
		require.Equal(t, "/after", sessions.AsError(err).Details["field"])
	}
}

func FuzzCursor(f *testing.F) {
	f.Add("0")
	f.Add("")
	f.Add(string(sessions.CursorAt(1, 1)))
	f.Add(string(sessions.CursorAt(math.MaxInt64, math.MaxInt64)))
	f.Fuzz(func(t *testing.T, s string) {
		life, seq, err := sessions.Cursor(s).Position("/cursor")
		switch {
		case err != nil:
			require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
		case life == 0:
			require.Equal(t, "0", s)
			require.Zero(t, seq)
		default:
			require.Positive(t, life)
			require.GreaterOrEqual(t, seq, int64(0))
			require.Equal(t, sessions.Cursor(s), sessions.CursorAt(life, seq), "a position has one spelling")
		}
	})
}
