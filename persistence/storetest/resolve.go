package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testResolve(t *testing.T, f Factory) {
	w := newWorld(t, f)
	resolve := func(at sessions.Address) sessions.Resolution {
		t.Helper()
		r, err := w.store.Resolve(t.Context(), owner, at)
		require.NoError(t, err)
		return r
	}
	require.Equal(t, sessions.Resolution{Generation: 1}, resolve(byID("nobody")))
	require.Equal(t, sessions.Resolution{Generation: 1}, resolve(byKey("doc", "writer")))

	keyed := w.create(sessions.CreateSession{At: byKey("doc", "writer")})
	want := sessions.Resolution{Life: keyed.Fence.Incarnation, ID: keyed.ID, Key: keyed.Key(), Profile: "writer", Generation: 1}
	require.Equal(t, want, resolve(byKey("doc", "writer")))
	require.Equal(t, want, resolve(byID(keyed.ID)))

	bare := w.create(sessions.CreateSession{At: byID("bare"), Profile: "reader"})
	require.Equal(t, sessions.Resolution{Life: bare.Fence.Incarnation, ID: "bare", Profile: "reader", Generation: 1}, resolve(byID("bare")))
	require.Equal(t, sessions.Resolution{Generation: 1}, resolve(byKey("", "reader")), "no key is not a key")

	w.remove(byID("bare"))
	require.Equal(t, sessions.Resolution{Generation: 1}, resolve(byID("bare")))
	w.clear(owner)
	require.Equal(t, sessions.Resolution{Generation: 2}, resolve(byKey("doc", "writer")))
}

func testOver(t *testing.T, f Factory) {
	w := newWorld(t, f)
	over := func(life sessions.Incarnation) bool {
		t.Helper()
		over, err := w.store.Over(t.Context(), life)
		require.NoError(t, err)
		return over
	}
	require.False(t, over(0))
	require.False(t, over(1), "it may still come")
	first, second := w.session(), w.session()
	require.False(t, over(first.Fence.Incarnation))
	w.remove(addressOf(second))
	require.False(t, over(first.Fence.Incarnation))
	require.True(t, over(second.Fence.Incarnation))
	require.False(t, over(second.Fence.Incarnation+1))
	w.clear(owner)
	require.True(t, over(first.Fence.Incarnation))
}
