package storetest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testState(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	life := a.Session.Fence.Incarnation
	read := func(name string) map[string]sessions.StateValue {
		t.Helper()
		values, err := w.store.State(t.Context(), life, name)
		require.NoError(t, err)
		require.NotNil(t, values)
		return values
	}
	require.Empty(t, read(""))
	require.Empty(t, read("snapshot"))

	c := w.step(a)
	c.State = map[string]json.RawMessage{"snapshot": json.RawMessage(`{"n": 1}`), "repl": json.RawMessage(`"<x>"`)}
	w.commit(c)
	first := sessions.StateValue{Value: json.RawMessage(`{"n": 1}`), Version: 1, UpdatedAt: noon}
	repl := sessions.StateValue{Value: json.RawMessage(`"<x>"`), Version: 1, UpdatedAt: noon}
	require.Equal(t, map[string]sessions.StateValue{"snapshot": first, "repl": repl}, read(""))

	w.now += minute
	c = w.step(a)
	c.State = map[string]json.RawMessage{"snapshot": json.RawMessage(`{"n":2}`)}
	w.commit(c)
	second := sessions.StateValue{Value: json.RawMessage(`{"n":2}`), Version: 2, UpdatedAt: w.now}
	require.Equal(t, map[string]sessions.StateValue{"snapshot": second}, read("snapshot"))
	require.Equal(t, map[string]sessions.StateValue{"snapshot": second, "repl": repl}, read(""))

	_, err := w.store.State(t.Context(), life+1000, "")
	requireCode(t, sessions.CodeSessionNotFound, err)
}
