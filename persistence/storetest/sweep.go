package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func testSweep(t *testing.T, f Factory) {
	w := newWorld(t, f)
	if f.Rows == nil {
		t.Skip("this store does not show its rows")
	}
	rows := func(table string) int { return len(f.Rows(t, w.store)[table]) }
	w.turn(byKey("kept", "writer"), "question", "reply")
	running := w.accept(w.prompt(byKey("running", "writer"), "question"))
	w.accept(w.prompt(byKey("gone", "writer"), "question"))
	w.remove(byKey("gone", "writer"))
	require.Equal(t, 2, rows("dedupe_claims"))

	require.NoError(t, w.store.Sweep(t.Context(), w.now+ttl-1))
	require.Equal(t, 2, rows("dedupe_claims"))
	require.NoError(t, w.store.Sweep(t.Context(), w.now+ttl))
	require.Equal(t, 1, rows("dedupe_claims"), "a running turn's claim stays")
	require.Equal(t, 1, rows("session_tombstones"))
	require.Equal(t, 1, rows("claim_tombstones"))

	require.NoError(t, w.store.Sweep(t.Context(), w.now+30*day))
	require.Equal(t, 1, rows("dedupe_claims"))
	require.Equal(t, 0, rows("session_tombstones"))
	require.Equal(t, 0, rows("claim_tombstones"))
	w.commit(w.answer(running, "reply"))
}
