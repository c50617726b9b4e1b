package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// settling returns a delete of a session whose own turns have ended.
func (w *world) settling(at sessions.Address) sessions.DeleteSession {
	return sessions.DeleteSession{Owner: owner, At: at, OnlySettled: true, TombstoneMs: 30 * day, Now: w.now}
}

func testSettled(t *testing.T, f Factory) {
	f.run(t, "a turn under way refuses the delete", func(t *testing.T) {
		w := newWorld(t, f)
		s := w.session()
		a := w.accept(w.prompt(addressOf(s), "question"))
		queued := w.prompt(addressOf(s), "later")
		queued.Busy, queued.QueueLimit, queued.Fence = sessions.BusyQueue, 4, a.Session.Fence
		next := w.accept(queued)
		for range 2 {
			before := w.get(addressOf(s))
			_, err := w.store.DeleteSession(t.Context(), w.settling(addressOf(s)), nil)
			require.ErrorIs(t, err, sessions.ErrNotSettled)
			require.Equal(t, before, w.get(addressOf(s)))
			if a.Turn.TurnID != "" { // then only the queued one is left
				w.commit(w.answer(a, "reply"))
				a = sessions.AcceptedTurn{}
			}
		}
		_, found, err := w.store.WithdrawTurn(t.Context(), sessions.WithdrawTurn{
			Fence: w.get(addressOf(s)).Fence, RequestID: next.Turn.RequestID, ClaimTTLMs: ttl, Now: w.now})
		require.NoError(t, err)
		require.True(t, found)
		receipt, err := w.store.DeleteSession(t.Context(), w.settling(addressOf(s)), nil)
		require.NoError(t, err)
		require.EqualValues(t, 1, receipt.Sessions)
	})
	f.run(t, "a child's turn does not", func(t *testing.T) {
		w := newWorld(t, f)
		root := w.root("root")
		child := w.create(sessions.CreateSession{Profile: sessions.DefaultProfile, ParentID: root.ID, ParentLocation: sessions.Local})
		w.accept(w.prompt(addressOf(child), "question"))
		_, err := w.store.DeleteSession(t.Context(), w.settling(addressOf(child)), nil)
		require.ErrorIs(t, err, sessions.ErrNotSettled)
		receipt, err := w.store.DeleteSession(t.Context(), w.settling(addressOf(root)), nil)
		require.NoError(t, err)
		require.EqualValues(t, 2, receipt.Sessions)
	})
	f.run(t, "what was deleted is known for a while", func(t *testing.T) { knownDeleted(t, f) })
}

func knownDeleted(t *testing.T, f Factory) {
	w := newWorld(t, f)
	deleted := func(by sessions.Owner, id sessions.SessionID) bool {
		gone, err := w.store.Deleted(t.Context(), by, id, w.now)
		require.NoError(t, err)
		return gone
	}
	w.root("a")
	w.root("b")
	require.False(t, deleted(owner, "a"), "it lives")
	w.remove(byID("a"))
	require.True(t, deleted(owner, "a"))
	require.False(t, deleted("other", "a"), "another owner never had it")
	require.False(t, deleted(owner, "nobody"))
	w.root("a")
	require.False(t, deleted(owner, "a"), "it lives again")
	w.remove(byID("a"))
	_, err := w.store.ClearOwner(t.Context(), sessions.ClearOwner{Owner: owner, TombstoneMs: 30 * day, Now: w.now}, nil)
	require.NoError(t, err)
	require.False(t, deleted(owner, "a"), "a clear forgets what was before it")
	require.False(t, deleted(owner, "b"))
	w.root("b")
	w.remove(byID("b"))
	require.True(t, deleted(owner, "b"))
	w.now += 31 * day
	require.False(t, deleted(owner, "b"), "the tombstone has expired")
}
