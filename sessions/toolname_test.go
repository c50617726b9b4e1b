package sessions_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"agenthost/sessions"
)

func TestFunctionNameKeepsPlainPathsReadable(t *testing.T) {
	for path, want := range map[string]string{
		"/builtin/time":          "builtin__time",
		"builtin/time":           "builtin__time",
		"/mcp/files/read_file":   "mcp__files__read_file",
		"/Orders/look-up":        "Orders__look-up",
		"/x":                     "x",
		"/" + longSegment(64):    longSegment(64),
		"/a/12345678":            "a__12345678_52c31451",
		"/a_deadbeef":            "a_deadbeef_a2402ed8",
		"/a/b__c":                "a__b__c_bbed5037",
		"/a/b/_c":                "a__b___c_acbd4a04",
		"/orders/größe":          "orders__gr__e_e2671e3d",
		"/targets/acme.com/find": "targets__acme_com__find_6b4ffe48",
		"/" + longSegment(65):    longSegment(55) + "_00d4b598",
	} {
		require.Equal(t, want, sessions.FunctionName(path), path)
	}
}

func TestFunctionNameTellsLikePathsApart(t *testing.T) {
	paths := []string{
		"/a/b", "/a_b", "/a__b", "/a-b", "/a.b", "/a b", "/a/_b", "/a_/b", "/a___b", "/a/b_", "/A/b", "/a//b", "/",
		"/" + longSegment(80) + "/x", "/" + longSegment(80) + "/y", "/" + longSegment(80) + ".x",
		"/é", "/è", "/\xff", "/\xfe", sessions.FunctionName("/a.b"), sessions.FunctionName("/" + longSegment(80)),
	}
	names := map[string]string{}
	for _, p := range paths {
		n := sessions.FunctionName(p)
		require.Empty(t, names[n], "%q and %q share the name %q", p, names[n], n)
		names[n] = p
	}
}

func TestFunctionNameIsAlwaysValidAndInjective(t *testing.T) {
	valid := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	path := rapid.OneOf(
		rapid.StringMatching(`(/[ab_]{1,4}){1,4}`),
		rapid.StringMatching(`(/[a-f0-9_]{6,12}){1,3}`),
		rapid.Map(rapid.String(), func(s string) string { return "/" + s }),
	)
	rapid.Check(t, func(t *rapid.T) {
		p, q := path.Draw(t, "p"), path.Draw(t, "q")
		require.Regexp(t, valid, sessions.FunctionName(p))
		if p != q {
			require.NotEqual(t, sessions.FunctionName(p), sessions.FunctionName(q))
		}
	})
}

func longSegment(n int) string { return strings.Repeat("long-", n/5+1)[:n] }
