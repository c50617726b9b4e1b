package tools

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"agenthost/sessions"
)

func TestParsePathTakesOneSpelling(t *testing.T) {
	for in, want := range map[string]string{
		"/a":                               "/a",
		"a":                                "/a",
		"/builtin/time":                    "/builtin/time",
		"builtin/time":                     "/builtin/time",
		"/a/b.c/d-e_f":                     "/a/b.c/d-e_f",
		"/a/..b/c..":                       "/a/..b/c..",
		"/orders/Order 17":                 "/orders/Order 17",
		"/größe/日本/🚀":                      "/größe/日本/🚀",
		"/" + strings.Repeat("a", 255):     "/" + strings.Repeat("a", 255),
		strings.Repeat("a", 255):           "/" + strings.Repeat("a", 255),
		"/a" + strings.Repeat("/b", 127):   "/a" + strings.Repeat("/b", 127),
		"/mcp/files/read:file@v1,(x)+[y]?": "/mcp/files/read:file@v1,(x)+[y]?",
	} {
		got, err := ParsePath(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
	}
}

// badPaths are refused wherever a path is asked for.
var badPaths = []string{
	"", "/", "//", "/a/", "a/", "//a", "/a//b", "a//b",
	".", "..", "/.", "/..", "/a/.", "/a/..", "../x", "/../x", "a/../b", "/a/./b", "...", "/a/....",
	"%2e%2e", "/a%2fb", "/a%2Fb", "/a/%2e%2e/b", "/100%", "%00", "%c0%af",
	`a\b`, `/a\..\b`, `\`, "/a\x00b", "/a\nb", "/a\tb", "/a\x7fb", "/a\u0085b",
	"/a\u200bb", "/a\u202eb", "/a\ufeff", "/a\u2028b", "/a\u00a0b",
	"/ a", "/a ", " /a", "/a/ ", "/a/ /b", "/a/ ../b",
	"{target}", "/{target}", "/a/{b}", "/a/{target", "/a\xff", "\xc3\x28", "/a\xed\xa0\x80",
	"/" + strings.Repeat("a", 256), strings.Repeat("a", 256), strings.Repeat("/a", 200),
}

func TestParsePathRefuses(t *testing.T) {
	for _, in := range badPaths {
		got, err := ParsePath(in)
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err), "%q", in)
		require.Empty(t, got, "%q", in)
	}
}

func TestWithinGoesByWholeSegments(t *testing.T) {
	for _, c := range []struct {
		path, root string
		want       bool
	}{
		{"/a/b", "/a/b", true},
		{"/a/b/c", "/a/b", true},
		{"/a/b/c/d", "/a", true},
		{"/a/bc", "/a/b", false},
		{"/a/b.c", "/a/b", false},
		{"/a", "/a/b", false},
		{"/ab", "/a", false},
		{"/b/a", "/a", false},
		{"/A/b", "/a", false},
	} {
		require.Equal(t, c.want, Within(c.path, c.root), "%q in %q", c.path, c.root)
	}
}

// genPath draws valid paths from so few segments that they often meet.
func genPath() *rapid.Generator[string] {
	segment := rapid.SampledFrom([]string{"a", "b", "ab", "a.b", "aé", "a b", "a-"})
	return rapid.Map(rapid.SliceOfN(segment, 1, 5), func(s []string) string { return "/" + strings.Join(s, "/") })
}

func TestWithinAgreesWithSegments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		path, root := genPath().Draw(t, "path"), genPath().Draw(t, "root")
		p, r := strings.Split(path, "/"), strings.Split(root, "/")
		want := len(p) >= len(r) && slices.Equal(p[:len(r)], r)
		require.Equal(t, want, Within(path, root))
	})
}

func TestParsePathIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.OneOf(genPath(), rapid.String(), rapid.StringMatching(`[a/.\\% ]{0,12}`)).Draw(t, "in")
		checkParse(t, in)
	})
}

func FuzzParsePath(f *testing.F) {
	for _, s := range append([]string{"/a/b", "a/b", "/größe/🚀"}, badPaths...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) { checkParse(t, in) })
}

// checkParse requires what holds of every input of ParsePath.
func checkParse(t require.TestingT, in string) {
	path, err := ParsePath(in)
	if err != nil {
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
		return
	}
	require.Equal(t, "/"+strings.TrimPrefix(in, "/"), path)
	require.LessOrEqual(t, len(path), MaxPathBytes)
	for _, segment := range strings.Split(path, "/")[1:] {
		require.NotContains(t, []string{"", ".", ".."}, segment)
		require.NotContains(t, segment, `\`)
		require.NotContains(t, segment, "%")
	}
	again, err := ParsePath(path)
	require.NoError(t, err)
	require.Equal(t, path, again)
	require.True(t, Within(path, path))
	require.False(t, Within(path+"x", path))
}
