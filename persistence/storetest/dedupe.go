package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testDedupe(t *testing.T, f Factory) {
	f.run(t, "a repeat while the turn runs joins it", func(t *testing.T) {
		w := newWorld(t, f)
		c := w.prompt(byKey("doc", "writer"), "question")
		a := w.accept(c)
		got := w.repeat(c)
		require.Equal(t, sessions.AcceptedTurn{Session: a.Session, Turn: a.Turn, Duplicate: true}, got)
		require.Len(t, w.history(a.Session.Fence.Incarnation), 1)
	})
	f.run(t, "a repeat after the end gets the stored answer", func(t *testing.T) {
		w := newWorld(t, f)
		c := w.prompt(byKey("doc", "writer"), "question")
		a := w.accept(c)
		done := w.commit(w.answer(a, "reply"))
		got := w.repeat(c)
		require.Equal(t, done.Turn, got.Turn)
		require.Equal(t, done.Session, got.Session)
		require.Equal(t, "reply", sessions.TextOf(got.Final.Content))
		require.Equal(t, w.history(a.Session.Fence.Incarnation)[1], *got.Final)
	})
	f.run(t, "a repeat of a failed turn gets the stored failure", func(t *testing.T) {
		w := newWorld(t, f)
		c := w.prompt(byKey("doc", "writer"), "question")
		w.end(w.accept(c), sessions.TurnIsFailed, failure(sessions.CodeLLMAPIFailure))
		got := w.repeat(c)
		require.Equal(t, sessions.TurnIsFailed, got.Turn.Status)
		require.Equal(t, failure(sessions.CodeLLMAPIFailure), got.Turn.Error)
		require.Nil(t, got.Final)
	})
	f.run(t, "a repeat wins over every refusal", func(t *testing.T) {
		w := newWorld(t, f)
		c := w.prompt(byKey("doc", "writer"), "question")
		a := w.accept(c)
		c = w.again(c)
		c.Admitted, c.Refusal = false, sessions.Errorf(sessions.CodeHostStopping, "Stopping.")
		c.Fence = sessions.Fence{Incarnation: 99, Epoch: 99}
		got, err := w.store.AcceptTurn(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, a.Turn, got.Turn)
	})
	f.run(t, "a request id belongs to one owner", func(t *testing.T) {
		w := newWorld(t, f)
		c := w.prompt(byKey("doc", "writer"), "question")
		w.accept(c)
		c = w.again(c)
		c.Owner, c.Request.Fingerprint = "other", fingerprint("else")
		w.accept(c)
	})
	f.run(t, "a request id of a create is no prompt's", func(t *testing.T) {
		w := newWorld(t, f)
		w.create(sessions.CreateSession{At: byID("a"), Request: &sessions.Request{ID: "r", Fingerprint: fingerprint("x"), TTLMs: ttl}})
		c := w.prompt(byID("a"), "x")
		c.Request.ID = "r"
		_, err := w.store.AcceptTurn(t.Context(), c)
		requireCode(t, sessions.CodeRequestConflict, err)
	})
	f.run(t, "a claim lives until its time after the end", func(t *testing.T) { dedupeExpiry(t, f) })
	f.run(t, "a claim can be looked up", func(t *testing.T) {
		w := newWorld(t, f)
		c := w.prompt(byKey("doc", "writer"), "question")
		a := w.accept(c)
		claim, found, err := w.store.Claim(t.Context(), owner, c.Request.ID, w.now)
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, sessions.Claim{Fingerprint: c.Request.Fingerprint, Life: a.Session.Fence.Incarnation, TurnID: c.TurnID}, claim)
	})
}

// repeat sends a request again and requires that it is recognised.
func (w *world) repeat(c sessions.AcceptTurn) sessions.AcceptedTurn {
	w.t.Helper()
	got, err := w.store.AcceptTurn(w.t.Context(), w.again(c))
	require.NoError(w.t, err)
	require.True(w.t, got.Duplicate)
	require.Nil(w.t, got.User)
	require.Empty(w.t, got.Frames)
	return got
}

func dedupeExpiry(t *testing.T, f Factory) {
	w := newWorld(t, f)
	c := w.prompt(byKey("doc", "writer"), "question")
	a := w.accept(c)
	w.now += 100 * day
	w.repeat(c) // a running turn's claim never expires

	w.commit(w.answer(a, "reply"))
	w.now += ttl - 1
	w.repeat(c)
	other := w.again(c)
	other.Request.Fingerprint = fingerprint("another")
	_, err := w.store.AcceptTurn(t.Context(), other)
	requireCode(t, sessions.CodeRequestConflict, err)

	w.now++
	_, found, err := w.store.Claim(t.Context(), owner, c.Request.ID, w.now)
	require.NoError(t, err)
	require.False(t, found)
	other.Now = w.now
	b := w.accept(other)
	require.Equal(t, other.TurnID, w.repeat(other).Turn.TurnID, "the new claim replaces the old one")
	require.NotEqual(t, a.Turn.TurnID, b.Turn.TurnID)

	turn, err := w.store.TurnByRequest(t.Context(), a.Session.Fence.Incarnation, c.Request.ID)
	require.NoError(t, err)
	require.Equal(t, b.Turn.TurnID, turn.TurnID, "the latest turn of the id")
}
