package tools

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func TestClientToolsStandBesideMountedOnes(t *testing.T) {
	tree := treeOf(t, "/a/b", "/a/c", "/z")
	clients, err := ClientTools("/tools", []sessions.ClientTool{
		{Path: "m/own", Description: "an \xff", Schema: json.RawMessage(`{"type":"object","required":["x"]}`)},
		{Path: "/a/c"},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"/a/c", "/m/own"}, pathsOf(clients))
	own := clients[1]
	require.True(t, own.Spec.ClientSide)
	require.Equal(t, "an \uFFFD", own.Spec.Description)
	require.Equal(t, sessions.FunctionName("/m/own"), own.Function)
	require.Error(t, own.CheckArgs([]byte(`{}`)))
	require.NoError(t, own.CheckArgs([]byte(`{"x":1}`)))
	require.NoError(t, clients[0].CheckArgs([]byte(`{}`)), "without a schema any object fits")

	require.Nil(t, tree.Clash(own))
	require.Equal(t, "/a/c", tree.Clash(clients[0]).Path)
	visible := tree.VisibleBeside(scopeOf(t, "", "/a"), clients)
	require.Equal(t, []string{"/a/b", "/a/c", "/m/own"}, pathsOf(visible), "in every scope")
	require.Same(t, clients[0], visible[1], "the mounted one is hidden")
	require.Equal(t, []string{"/a/b", "/a/c"}, pathsOf(tree.VisibleBeside(scopeOf(t, "", "/a"), nil)))
}

func TestClientToolsThatCannotBeUsed(t *testing.T) {
	good := sessions.ClientTool{Path: "/a"}
	for _, bad := range []sessions.ClientTool{
		{Path: "/a//b"}, {Path: "a"}, {Path: "/b", Schema: json.RawMessage(`{"type":"array"}`)}, {Path: "/b", Schema: json.RawMessage(`{`)},
	} {
		_, err := ClientTools("/tools", []sessions.ClientTool{good, bad})
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
		require.Equal(t, "/tools/1", sessions.AsError(err).Details["field"])
	}
	none, err := ClientTools("", nil)
	require.NoError(t, err)
	require.Empty(t, none)
}
