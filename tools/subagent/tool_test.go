package subagent_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/tools"
	"agenthost/tools/subagent"
)

func TestEveryProfileIsMountedThatCanBe(t *testing.T) {
	tree := &tools.Tree{}
	own := tools.MustFunc("mine", func(context.Context, tools.Call, struct{}) (string, error) { return "", nil })
	require.NoError(t, tree.Mount("/agents/own", own))
	err := subagent.Mount(tree, "default", "own", "50%", "..", "a b")
	require.ErrorContains(t, err, `"50%"`)
	require.ErrorContains(t, err, `".."`)
	var paths []string
	for _, m := range tree.All() {
		paths = append(paths, m.Path)
	}
	require.Equal(t, []string{"/agents/a b", "/agents/default", "/agents/own"}, paths)
	require.NoError(t, subagent.Mount(tree, "default"), "a tree may serve several hosts")
	m, _ := tree.Lookup("/agents/own")
	require.Equal(t, "mine", m.Spec.Description)
}

func TestACallOutsideATurnIsRefused(t *testing.T) {
	tool := subagent.New("default", "of a test", subagent.Here)
	_, err := tool.Invoke(t.Context(), tools.Call{Args: []byte(`{"prompt":"p"}`)})
	require.ErrorAs(t, err, new(*tools.Failure))
	require.True(t, tool.Spec().Repeatable)
	require.True(t, tool.Spec().TurnBound)
}
