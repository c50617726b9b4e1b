package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// raceForkAndDelete forks a session while it is deleted: the fork has all of it
// or there is none, and none of the origin is left.
func raceForkAndDelete(t *testing.T, f Factory) {
	w := newWorld(t, f)
	w.raced(func(int) (func(), func(), func(order)) {
		key := byKey(w.name("doc"), "writer")
		a, _ := w.turn(key, "question", "reply")
		c := w.fork(key, 0)
		var fork sessions.ForkedSession
		var forkErr, deleteErr error
		copies := func() { fork, forkErr = w.store.ForkSession(t.Context(), c) }
		remove := func() { _, _, deleteErr = w.tryDelete(sessions.DeleteSession{At: key}) }
		return copies, remove, func(o order) {
			require.NoError(t, deleteErr)
			_, err := w.store.Messages(t.Context(), a.Session.Fence.Incarnation, sessions.MessageQuery{})
			requireCode(t, sessions.CodeSessionNotFound, err)
			if forkErr != nil {
				require.NotEqual(t, otherFirst, o)
				requireCode(t, sessions.CodeSessionNotFound, forkErr)
				w.requireGone(c.NewID)
				return
			}
			require.NotEqual(t, deleteFirst, o)
			require.Len(t, w.history(fork.Session.Fence.Incarnation), 2)
			require.Empty(t, w.get(addressOf(fork.Session)).ForkedFrom)
			w.turn(addressOf(fork.Session), "next", "reply")
		}
	})
}

// forkAfterStep has a step, then a fork, wait for the store: the fork has it.
// Then the origin is made anew before the fork: it is of the new one.
func forkAfterStep(t *testing.T, f Factory) {
	if f.Hold == nil {
		t.Skip("this store cannot be held")
	}
	w := newWorld(t, f)
	key := byKey("doc", "writer")
	a := w.accept(w.prompt(key, "question"))
	c := w.fork(key, 0)
	var fork sessions.ForkedSession
	var stepErr, forkErr error
	copies := func() { fork, forkErr = w.store.ForkSession(t.Context(), c) }
	w.inOrder(func() { _, stepErr = w.store.CommitTurn(t.Context(), w.answer(a, "reply")) }, copies)
	require.NoError(t, stepErr)
	require.NoError(t, forkErr)
	require.Equal(t, asCopied(w.history(a.Session.Fence.Incarnation)), w.history(fork.Session.Fence.Incarnation))

	c = w.fork(key, 0)
	anew := w.prompt(key, "anew")
	w.inOrder(func() { _, _, stepErr = w.tryDelete(sessions.DeleteSession{At: key}) },
		func() { _, _ = w.store.AcceptTurn(t.Context(), anew) }, copies)
	require.NoError(t, stepErr)
	require.NoError(t, forkErr)
	history := w.history(fork.Session.Fence.Incarnation)
	require.Len(t, history, 1)
	require.Equal(t, "anew", sessions.TextOf(history[0].Content))
}
