package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func forkConflicts(t *testing.T, f Factory) {
	w := newWorld(t, f)
	key := byKey("doc", "writer")
	w.turn(key, "question", "reply")
	taken := w.create(sessions.CreateSession{At: byKey("taken", "writer")})
	w.create(sessions.CreateSession{At: byKey("free", "reader")})
	w.create(sessions.CreateSession{Owner: "other", At: byID("theirs")})

	c := w.fork(key, 0)
	c.NewID = taken.ID
	_, err := w.store.ForkSession(t.Context(), c)
	requireCode(t, sessions.CodeConflict, err)
	c = w.fork(key, 0)
	c.NewTarget = "taken"
	_, err = w.store.ForkSession(t.Context(), c)
	requireCode(t, sessions.CodeConflict, err)
	_, err = w.store.Session(t.Context(), owner, byID(c.NewID))
	requireCode(t, sessions.CodeSessionNotFound, err)
	c.NewID, c.NewTarget = "theirs", "free"
	require.Equal(t, sessions.Key{Target: "free", Profile: "writer"}, w.forked(c).Key())
	w.remove(addressOf(taken))
	c.NewID, c.NewTarget = taken.ID, "taken"
	require.Greater(t, w.forked(c).Fence.Incarnation, taken.Fence.Incarnation)
}

func forkDamaged(t *testing.T, f Factory) {
	if f.Damage == nil {
		t.Skip("this store cannot be damaged behind its back")
	}
	w := newWorld(t, f)
	key := byKey("doc", "writer")
	a, _ := w.turn(key, "question", "reply")
	c := w.fork(key, 0)
	c.Request = &sessions.Request{ID: "r", Fingerprint: fingerprint("fork"), TTLMs: ttl}
	first := w.forked(c)
	f.Damage(t, w.store, a.Session.Fence.Incarnation)
	_, err := w.store.ForkSession(t.Context(), w.fork(key, 0))
	requireCode(t, sessions.CodeSessionDamaged, err)
	require.Equal(t, sessions.StatusFailed, w.get(key).Status)
	again, err := w.store.ForkSession(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, sessions.ForkedSession{Session: first, Duplicate: true}, again)
	w.turn(addressOf(first), "next", "reply")
}

func forkByRequest(t *testing.T, f Factory) {
	w := newWorld(t, f)
	key := byKey("doc", "writer")
	w.turn(key, "question", "reply")
	c := w.fork(key, 0)
	c.Request = &sessions.Request{ID: "r", Fingerprint: fingerprint("fork"), TTLMs: ttl}
	first := w.forked(c)

	w.turn(key, "later", "reply")
	repeat := c
	repeat.NewID = sessions.SessionID(w.name("fork"))
	again, err := w.store.ForkSession(t.Context(), repeat)
	require.NoError(t, err)
	require.Equal(t, sessions.ForkedSession{Session: first, Duplicate: true}, again)
	w.remove(key)
	again, err = w.store.ForkSession(t.Context(), repeat)
	require.NoError(t, err, "it needs no origin")
	require.Equal(t, first.ID, again.Session.ID)

	other := repeat
	other.Request = &sessions.Request{ID: "r", Fingerprint: fingerprint("another"), TTLMs: ttl}
	_, err = w.store.ForkSession(t.Context(), other)
	requireCode(t, sessions.CodeRequestConflict, err)
	w.remove(addressOf(first))
	_, err = w.store.ForkSession(t.Context(), repeat)
	requireCode(t, sessions.CodeSessionDeleted, err)

	w.turn(key, "anew", "reply")
	repeat.Now += 31 * day
	require.NotEqual(t, first.ID, w.forked(repeat).ID, "the claim has expired")
}
