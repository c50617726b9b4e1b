package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// fakeTool is a tool with a schema and no work.
type fakeTool struct{ schema string }

func (f fakeTool) Spec() Spec {
	return Spec{Description: "a fake", Schema: json.RawMessage(f.schema), Repeatable: true}
}

func (f fakeTool) Invoke(context.Context, Call) (json.RawMessage, error) {
	return json.RawMessage(`null`), nil
}

func treeOf(t *testing.T, paths ...string) *Tree {
	t.Helper()
	var tree Tree
	for _, path := range paths {
		require.NoError(t, tree.Mount(path, fakeTool{}))
	}
	return &tree
}

func pathsOf(mounted []*Mounted) []string {
	var paths []string
	for _, m := range mounted {
		paths = append(paths, m.Path)
	}
	return paths
}

func TestMountAndLookup(t *testing.T) {
	tree := treeOf(t, "orders/lookup")
	m, ok := tree.Lookup("/orders/lookup")
	require.True(t, ok)
	require.Equal(t, "/orders/lookup", m.Path)
	require.Equal(t, sessions.FunctionName("/orders/lookup"), m.Function)
	require.Equal(t, "a fake", m.Spec.Description)
	require.True(t, m.Spec.Repeatable)
	require.JSONEq(t, `{"type":"object"}`, string(m.Spec.Schema))
	require.Equal(t, fakeTool{}, m.Tool)

	same, ok := tree.Lookup("orders/lookup")
	require.True(t, ok)
	require.Same(t, m, same)
	byName, ok := tree.ByFunction(m.Function)
	require.True(t, ok)
	require.Same(t, m, byName)

	for _, path := range append([]string{"/orders", "/orders/lookup/x", "/orders/look", "/Orders/lookup"}, badPaths...) {
		_, ok := tree.Lookup(path)
		require.False(t, ok, "%q", path)
	}
	_, ok = tree.ByFunction("/orders/lookup")
	require.False(t, ok)
}

func TestMountRefuses(t *testing.T) {
	tree := treeOf(t, "/a/b")
	require.Equal(t, sessions.CodeConflict, sessions.CodeOf(tree.Mount("/a/b", fakeTool{})))
	require.Equal(t, sessions.CodeConflict, sessions.CodeOf(tree.Mount("a/b", fakeTool{})))
	require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(tree.Mount("/c", nil)))
	for _, path := range badPaths {
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(tree.Mount(path, fakeTool{})), "%q", path)
	}
	require.Equal(t, []string{"/a/b"}, pathsOf(tree.All()))
}

func TestMountRefusesAFunctionNameTwice(t *testing.T) {
	tree := treeOf(t, "/a/b")
	m, _ := tree.Lookup("/a/b")
	// The names of distinct paths differ as long as their hashes do, so the
	// collision is made here.
	err := tree.add(&Mounted{Path: "/other", Function: m.Function})
	require.Equal(t, sessions.CodeConflict, sessions.CodeOf(err))
	require.ErrorContains(t, err, "/a/b")
	require.ErrorContains(t, err, "/other")
	require.Equal(t, []string{"/a/b"}, pathsOf(tree.All()))
}

func TestToolsMayLieBelowTools(t *testing.T) {
	tree := treeOf(t, "/a", "/a/b", "/a/b/c")
	require.True(t, tree.Unmount("/a/b"))
	require.Equal(t, []string{"/a", "/a/b/c"}, pathsOf(tree.All()))
}

func TestUnmount(t *testing.T) {
	tree := treeOf(t, "/a", "/b")
	old, _ := tree.Lookup("/a")
	require.True(t, tree.Unmount("a"))
	require.False(t, tree.Unmount("/a"))
	require.False(t, tree.Unmount("/a/../b"))
	_, ok := tree.Lookup("/a")
	require.False(t, ok)
	_, ok = tree.ByFunction(old.Function)
	require.False(t, ok)

	require.NoError(t, tree.Mount("/a", fakeTool{}))
	again, _ := tree.Lookup("/a")
	require.NotSame(t, old, again)
	require.NoError(t, old.CheckArgs([]byte(`{}`)), "a call under way keeps its Mounted")
}

func TestVisibleIsTheScopeInOrder(t *testing.T) {
	tree := treeOf(t, "/z/last", "/builtin/time", "/a/bc", "/a/b/c", "/a/b", "/builtin/echo", "/targets/17/open", "/targets/18/open")
	require.Equal(t, []string{"/a/b", "/a/b/c", "/a/bc", "/builtin/echo", "/builtin/time", "/targets/17/open", "/targets/18/open", "/z/last"},
		pathsOf(tree.All()))
	for _, c := range []struct {
		scope Scope
		want  []string
	}{
		{Scope{}, nil},
		{scopeOf(t, "", TargetEntry), nil},
		{scopeOf(t, "17", TargetEntry), []string{"/targets/17/open"}},
		{scopeOf(t, "17", "/builtin", TargetEntry, "/a/b"), []string{"/a/b", "/a/b/c", "/builtin/echo", "/builtin/time", "/targets/17/open"}},
		{scopeOf(t, "1", TargetEntry, "/a", "/a/b"), []string{"/a/b", "/a/b/c", "/a/bc"}},
	} {
		require.Equal(t, c.want, pathsOf(tree.Visible(c.scope)))
	}
	require.Empty(t, (&Tree{}).All())
}

func TestSpecIsNotSharedWithTheTool(t *testing.T) {
	schema := []byte(`{"type":"object"}`)
	var tree Tree
	require.NoError(t, tree.Mount("/a", specTool{Spec{Schema: schema}}))
	copy(schema, "broken")
	m, _ := tree.Lookup("/a")
	require.JSONEq(t, `{"type":"object"}`, string(m.Spec.Schema))
}

type specTool struct{ spec Spec }

func (s specTool) Spec() Spec                                            { return s.spec }
func (s specTool) Invoke(context.Context, Call) (json.RawMessage, error) { return nil, nil }

func TestTreeUnderConcurrentUse(t *testing.T) {
	var tree Tree
	var wg sync.WaitGroup
	scope := scopeOf(t, "", "/even")
	for i := range 8 {
		wg.Go(func() {
			root := []string{"/even", "/odd"}[i%2]
			for n := range 50 {
				path := fmt.Sprintf("%s/%d/%d", root, i, n)
				if err := tree.Mount(path, fakeTool{}); err != nil {
					t.Error(err)
				}
				for _, m := range tree.Visible(scope) {
					if !strings.HasPrefix(m.Path, "/even/") {
						t.Errorf("%s is not in scope", m.Path)
					}
				}
				if n%2 == 1 && !tree.Unmount(path) {
					t.Errorf("%s is gone", path)
				}
			}
		})
	}
	wg.Wait()
	require.Len(t, tree.All(), 200)
	require.Len(t, tree.Visible(scope), 100)
}
