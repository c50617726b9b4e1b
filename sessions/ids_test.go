package sessions_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// requireField requires nil when good, else INVALID_REQUEST about "/f".
func requireField(t *testing.T, good bool, err error, value string) {
	t.Helper()
	if good {
		require.NoError(t, err, "%q", value)
		return
	}
	require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err), "%q", value)
	require.Equal(t, "/f", sessions.AsError(err).Details["field"])
}

func TestCheckSessionID(t *testing.T) {
	for id, good := range map[string]bool{
		"a": true, "Z": true, "0": true, "a-b_c.d:e": true, "018f3c1e-7b2a-7c3d-9e4f-1a2b3c4d5e6f": true,
		strings.Repeat("x", 128): true, "a..": true,
		"": false, strings.Repeat("x", 129): false, "-a": false, "_a": false, ".a": false, ":a": false, "..": false,
		"a b": false, "a/b": false, "a\\b": false, "a\x00": false, "a\n": false, "é": false, "aé": false, "a\xff": false, "a%2e": false, "a🚀": false,
	} {
		requireField(t, good, sessions.CheckSessionID("/f", sessions.SessionID(id)), id)
	}
}

func TestCheckKeyPart(t *testing.T) {
	for part, good := range map[string]bool{
		"a": true, "order 17": true, "a/b": true, "../x": true, "größe": true, "🚀": true, "日本": true,
		strings.Repeat("x", 256): true, strings.Repeat("é", 128): true,
		"": false, strings.Repeat("x", 257): false, strings.Repeat("é", 129): false,
		"a\x00": false, "a\nb": false, "a\tb": false, "\x7f": false, "a\u200b": false, "\u202e": false, "\ufeff": false,
		"\xff": false, "a\xed\xa0\x80": false,
	} {
		requireField(t, good, sessions.CheckKeyPart("/f", part), part)
	}
}

func TestCheckRequestID(t *testing.T) {
	for id, good := range map[string]bool{
		"a": true, " ": true, "~": true, "any {printable} ASCII, \"quoted\"/\\": true, strings.Repeat("x", 128): true,
		"": false, strings.Repeat("x", 129): false, "a\n": false, "\x00": false, "\x7f": false, "é": false, "\xff": false, "🚀": false,
	} {
		requireField(t, good, sessions.CheckRequestID("/f", sessions.RequestID(id)), id)
	}
}

func TestKeyAndAddress(t *testing.T) {
	require.True(t, sessions.Key{}.IsZero())
	require.True(t, sessions.Key{Profile: "p"}.IsZero(), "a profile alone is about nothing")
	key := sessions.Key{Target: "order 17", Profile: "p"}
	require.False(t, key.IsZero())
	require.Equal(t, `("order 17", "p")`, sessions.Address{Key: key}.String())
	require.Equal(t, "s1", sessions.Address{ID: "s1", Key: key}.String())

	require.Equal(t, key, sessions.Session{TargetKey: "order 17", ProfileKey: "p"}.Key())
	require.Equal(t, sessions.Key{}, sessions.Session{ProfileKey: "p"}.Key())
}
