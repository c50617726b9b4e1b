package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// clear ends all sessions of an owner.
func (w *world) clear(of sessions.Owner) sessions.Receipt {
	w.t.Helper()
	receipt, err := w.store.ClearOwner(w.t.Context(), sessions.ClearOwner{Owner: of, TombstoneMs: 30 * day, Now: w.now}, nil)
	require.NoError(w.t, err)
	require.True(w.t, receipt.Complete)
	return receipt
}

func testClear(t *testing.T, f Factory) {
	for name, neighbour := range map[string]bool{"the only owner": false, "one of two owners": true} {
		t.Run(name, func(t *testing.T) { clearOwner(t, f, neighbour) })
	}
	f.run(t, "an owner without sessions", func(t *testing.T) {
		w := newWorld(t, f)
		receipt := w.clear("nobody")
		require.EqualValues(t, 0, receipt.Sessions)
	})
	f.run(t, "a prompt of an older generation is refused", func(t *testing.T) {
		w := newWorld(t, f)
		w.turn(byKey("doc", "writer"), "question", "reply")
		c := w.prompt(byKey("doc", "writer"), "late")
		c.Generation = 1
		w.clear(owner)
		_, err := w.store.AcceptTurn(t.Context(), c)
		require.ErrorIs(t, err, sessions.ErrFenced)
		w.turn(byKey("doc", "writer"), "fresh", "reply")
		_, err = w.store.AcceptTurn(t.Context(), c)
		require.ErrorIs(t, err, sessions.ErrFenced, "also when the key has a session again")
		c.Generation = 2
		w.accept(c)
	})
}

func clearOwner(t *testing.T, f Factory, neighbour bool) {
	w := newWorld(t, f)
	var kept sessions.Session
	if neighbour {
		c := w.prompt(byKey("doc", "writer"), "kept")
		c.Owner = "other"
		kept = w.accept(c).Session
	}
	const count = 30
	for i := range count {
		w.turn(byKey(fmt.Sprintf("doc-%d", i), "writer"), "question", "reply")
	}
	c := w.prompt(byKey("running", "writer"), "question")
	running := w.accept(c)

	var ended []sessions.Incarnation
	receipt, err := w.store.ClearOwner(t.Context(), sessions.ClearOwner{Owner: owner, TombstoneMs: 30 * day, Now: w.now},
		func(upTo sessions.Incarnation, hidden int64) {
			ended = append(ended, upTo)
			require.EqualValues(t, count+1, hidden)
			_, err := w.store.CommitTurn(t.Context(), w.answer(running, "late"))
			require.ErrorIs(t, err, sessions.ErrFenced)
		})
	require.NoError(t, err)
	require.Len(t, ended, 1)
	require.GreaterOrEqual(t, ended[0], running.Session.Fence.Incarnation)
	require.True(t, receipt.Complete)
	require.EqualValues(t, count+1, receipt.Sessions)
	require.EqualValues(t, count+1, receipt.Rows["sessions"])
	require.EqualValues(t, 2*count+1, receipt.Rows["session_messages"])
	if neighbour && f.Files != nil {
		require.Len(t, f.Files(t, w.store), 2, "the neighbour's")
		require.EqualValues(t, count+1, receipt.Files)
	} else {
		w.requireFrameless(receipt, count+1, 5*count+3)
	}
	require.EqualValues(t, count+1, receipt.Rows["dedupe_claims"])

	page, err := w.store.Sessions(t.Context(), sessions.SessionQuery{Owner: owner})
	require.NoError(t, err)
	require.Empty(t, page.Sessions)
	_, err = w.store.AcceptTurn(t.Context(), w.again(c))
	requireCode(t, sessions.CodeSessionDeleted, err)
	fresh := w.accept(w.prompt(byKey("running", "writer"), "fresh"))
	require.Greater(t, fresh.Session.Fence.Incarnation, ended[0])
	require.Len(t, w.history(fresh.Session.Fence.Incarnation), 1)
	if neighbour {
		got, err := w.store.Session(t.Context(), "other", byKey("doc", "writer"))
		require.NoError(t, err)
		require.Equal(t, kept, got)
		require.Len(t, w.history(kept.Fence.Incarnation), 1)
	}
}
