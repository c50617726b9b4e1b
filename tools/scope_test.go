package tools

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"agenthost/sessions"
)

func scopeOf(t require.TestingT, targetKey string, allowed ...string) Scope {
	s, err := NewScope(allowed, DefaultTargetRoot, targetKey)
	require.NoError(t, err)
	return s
}

func TestScopeAllows(t *testing.T) {
	s := scopeOf(t, "order/17", TargetEntry, "/builtin", "repl/run")
	for path, want := range map[string]bool{
		"/builtin":             true,
		"/builtin/time":        true,
		"builtin/time":         true,
		"/builtins":            false,
		"/repl/run":            true,
		"/repl":                false,
		"/targets/order/17":    true,
		"/targets/order/17/x":  true,
		"/targets/order/170":   false,
		"/targets/order":       false,
		"/targets/order/18":    false,
		"/targets":             false,
		"/builtin/../admin":    false,
		"/builtin//time":       false,
		"/builtin/%2e%2e/x":    false,
		`/builtin\time`:        false,
		"/builtin/":            false,
		"":                     false,
		"/":                    false,
		"{target}":             false,
		"/targets/order/17/..": false,
	} {
		require.Equal(t, want, s.Allows(path), "%q", path)
	}
}

func TestZeroScopeAllowsNothing(t *testing.T) {
	for _, path := range []string{"", "/", "/a", "/targets", "/targets/a"} {
		require.False(t, Scope{}.Allows(path), "%q", path)
	}
}

func TestTargetMustBeListed(t *testing.T) {
	require.False(t, scopeOf(t, "x", "/builtin").Allows("/targets/x"))
	require.True(t, scopeOf(t, "x", TargetEntry).Allows("/targets/x"))
}

// hostileKeys are target keys that stand for no place.
var hostileKeys = []string{
	"", ".", "..", "../x", "../builtin", "../targetsx", "a/../b", "a/..", "a/../../builtin", "a//b", "/", "/abs", "//abs",
	"a/", "./a", "a/.", "%2e%2e", "%2e%2e/builtin", "a%2fb", `a\b`, `..\builtin`, "a\x00", "a\nb", "\xff",
	" ", " a", "a ", ".. ", " ..", "{target}", "...", "a\u200b", "\u202ea", strings.Repeat("k", 256), strings.Repeat("k/", 200),
}

func TestHostileTargetKeysContributeNothing(t *testing.T) {
	places := []string{"/targets", "/targets/a", "/targets/a/b", "/targets/b", "/targets/x", "/builtin", "/builtin/time",
		"/abs", "/x", "/b", "/targetsx", "/targets/abs"}
	for _, key := range hostileKeys {
		s := scopeOf(t, key, TargetEntry)
		require.Equal(t, Scope{}, s, "%q", key)
		for _, path := range append(places, DefaultTargetRoot+"/"+key, key) {
			require.False(t, s.Allows(path), "key %q, path %q", key, path)
		}
		require.True(t, scopeOf(t, key, TargetEntry, "/builtin").Allows("/builtin/time"), "the rest of the list still counts")
	}
}

func TestPlainTargetKeys(t *testing.T) {
	for _, key := range []string{"a", "a/b", "Order 17", "🚀", "größe/日本", "user@example.org", "..a", strings.Repeat("k", 247)} {
		s := scopeOf(t, key, TargetEntry)
		require.True(t, s.Allows("/targets/"+key), "%q", key)
		require.False(t, s.Allows("/targets"), "%q", key)
		require.False(t, s.Allows("/targets/"+key+"x"), "%q", key)
		require.False(t, s.Allows("/"+key), "%q", key)
	}
}

func TestTargetNeverLeavesItsRoot(t *testing.T) {
	key := rapid.OneOf(
		rapid.String(),
		rapid.StringMatching(`[ab/.\\%2ef ]{0,16}`),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"..", ".", "", "a", "targets", "builtin"}), 0, 6),
			func(s []string) string { return strings.Join(s, "/") }),
	)
	rapid.Check(t, func(t *rapid.T) {
		root := rapid.SampledFrom([]string{"/targets", "/a", "/a/b"}).Draw(t, "root")
		s, err := NewScope([]string{TargetEntry}, root, key.Draw(t, "key"))
		require.NoError(t, err)
		path := rapid.OneOf(genPath(), key).Draw(t, "path")
		if s.Allows(path) {
			parsed, err := ParsePath(path)
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(parsed, root+"/"), "%q is not below %q", parsed, root)
		}
		require.False(t, s.Allows(root))
	})
}

func TestBadEntriesAreErrorsOfTheConfiguration(t *testing.T) {
	require.NoError(t, CheckAllowed(nil))
	require.NoError(t, CheckAllowed([]string{TargetEntry, "/builtin", "repl"}))
	for _, bad := range append([]string{"{target}/x", "/x/{target}", "{Target}", "{targetKey}"}, badPaths...) {
		if bad == TargetEntry {
			continue
		}
		err := CheckAllowed([]string{"/builtin", bad})
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err), "%q", bad)
		require.Equal(t, "/1", sessions.AsError(err).Details["field"], "%q", bad)
		_, scopeErr := NewScope([]string{"/builtin", bad}, DefaultTargetRoot, "x")
		require.Equal(t, err, scopeErr)
	}
	_, err := NewScope(nil, "/", "x")
	require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
}
