package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testDamage(t *testing.T, f Factory) {
	if f.Damage == nil {
		t.Skip("this store cannot be damaged behind its back")
	}
	w := newWorld(t, f)
	key := byKey("doc", "writer")
	a, _ := w.turn(key, "question", "reply")
	w.turn(byKey("well", "writer"), "question", "reply")
	life := a.Session.Fence.Incarnation
	f.Damage(t, w.store, life)

	_, err := w.store.Messages(t.Context(), life, sessions.MessageQuery{})
	requireCode(t, sessions.CodeSessionDamaged, err)
	_, err = w.store.Frames(t.Context(), life, sessions.FrameQuery{})
	requireCode(t, sessions.CodeSessionDamaged, err)

	s := w.get(key)
	require.Equal(t, sessions.StatusFailed, s.Status)
	require.Equal(t, sessions.CodeSessionDamaged, s.LastError.Code)
	_, err = w.store.AcceptTurn(t.Context(), w.prompt(key, "next"))
	requireCode(t, sessions.CodeSessionDamaged, err)
	_, err = w.store.SeedSession(t.Context(), w.seed(key))
	requireCode(t, sessions.CodeSessionDamaged, err)
	w.turn(byKey("well", "writer"), "nobody else is affected", "reply")
	require.NoError(t, w.store.Sweep(t.Context(), w.now+100*day))
	w.get(key)

	w.remove(key)
	w.turn(key, "fresh", "reply")
}
