package tools

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func builtins(t *testing.T, now func() time.Time) *Tree {
	t.Helper()
	var tree Tree
	require.NoError(t, MountBuiltins(&tree, now))
	return &tree
}

func TestTimeReadsTheClockInUTC(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 8_999_999, time.FixedZone("", 2*60*60))
	m, ok := builtins(t, func() time.Time { return now }).Lookup(TimePath)
	require.True(t, ok)
	require.True(t, m.Spec.Repeatable)
	require.NotEmpty(t, m.Spec.Description)
	require.NoError(t, m.CheckArgs([]byte(`{}`)))
	require.Error(t, m.CheckArgs([]byte(`{"zone":"UTC"}`)))
	out, err := m.Tool.Invoke(t.Context(), Call{Args: json.RawMessage(`{}`)})
	require.NoError(t, err)
	require.Equal(t, `"2026-03-04T03:06:07.008Z"`, string(out))

	now = now.Add(time.Hour)
	out, err = m.Tool.Invoke(t.Context(), Call{Args: json.RawMessage(`{}`)})
	require.NoError(t, err)
	require.Equal(t, `"2026-03-04T04:06:07.008Z"`, string(out))
}

func TestEchoReturnsItsText(t *testing.T) {
	m, ok := builtins(t, time.Now).Lookup(EchoPath)
	require.True(t, ok)
	require.True(t, m.Spec.Repeatable)
	for _, args := range []string{`{}`, `{"text":1}`, `{"text":null}`, `{"text":"a","x":1}`} {
		require.Error(t, m.CheckArgs([]byte(args)), args)
	}
	for _, text := range []string{"", "hello", "a\x00b", "🚀 <b>&</b>", "\"\\\n"} {
		args, err := json.Marshal(map[string]string{"text": text})
		require.NoError(t, err)
		require.NoError(t, m.CheckArgs(args))
		out, err := m.Tool.Invoke(t.Context(), Call{Args: args})
		require.NoError(t, err)
		var got string
		require.NoError(t, json.Unmarshal(out, &got))
		require.Equal(t, text, got)
	}
}

func TestBuiltinsMountOnce(t *testing.T) {
	tree := builtins(t, time.Now)
	require.Equal(t, []string{EchoPath, TimePath}, pathsOf(tree.All()))
	require.Equal(t, sessions.CodeConflict, sessions.CodeOf(MountBuiltins(tree, time.Now)))
}
