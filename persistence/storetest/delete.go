package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testDelete(t *testing.T, f Factory) {
	f.run(t, "no read finds what was deleted", func(t *testing.T) { deleteHides(t, f) })
	f.run(t, "nothing to delete is no error", func(t *testing.T) {
		w := newWorld(t, f)
		receipt, err := w.store.DeleteSession(t.Context(), sessions.DeleteSession{Owner: owner, At: byID("nobody"), TombstoneMs: day, Now: w.now},
			func([]sessions.DeletedSession) { t.Error("hidden was called") })
		require.NoError(t, err)
		require.Nil(t, receipt)
	})
	f.run(t, "a busy session may refuse", func(t *testing.T) {
		w := newWorld(t, f)
		a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		_, err := w.store.DeleteSession(t.Context(), sessions.DeleteSession{Owner: owner, At: addressOf(a.Session),
			RejectIfBusy: true, TombstoneMs: day, Now: w.now}, func([]sessions.DeletedSession) { t.Error("hidden was called") })
		require.ErrorIs(t, err, sessions.ErrTreeBusy)
		require.Equal(t, a.Session, w.get(addressOf(a.Session)))
		w.commit(w.answer(a, "reply"))
		w.remove(addressOf(a.Session))
	})
	f.run(t, "hidden is called once, between hiding and return", func(t *testing.T) {
		w := newWorld(t, f)
		a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		var calls []sessions.DeletedSession
		_, err := w.store.DeleteSession(t.Context(), sessions.DeleteSession{Owner: owner, At: addressOf(a.Session), TombstoneMs: day, Now: w.now},
			func(gone []sessions.DeletedSession) {
				calls = append(calls, gone...)
				_, err := w.store.Session(t.Context(), owner, addressOf(a.Session))
				requireCode(t, sessions.CodeSessionNotFound, err)
				_, err = w.store.CommitTurn(t.Context(), w.answer(a, "late"))
				require.ErrorIs(t, err, sessions.ErrFenced)
			})
		require.NoError(t, err)
		require.Equal(t, []sessions.DeletedSession{{Owner: owner, ID: a.Session.ID, Fence: a.Session.Fence}}, calls)
	})
	f.run(t, "late writes are refused, also after a new life began", func(t *testing.T) {
		w := newWorld(t, f)
		old := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		w.remove(byKey("doc", "writer"))
		late := w.prompt(byKey("doc", "writer"), "late")
		late.Fence = old.Session.Fence
		_, err := w.store.AcceptTurn(t.Context(), late)
		require.ErrorIs(t, err, sessions.ErrFenced)
		fresh := w.accept(w.prompt(byKey("doc", "writer"), "fresh"))
		_, err = w.store.CommitTurn(t.Context(), w.answer(old, "late"))
		require.ErrorIs(t, err, sessions.ErrFenced)
		_, err = w.store.AcceptTurn(t.Context(), late)
		require.ErrorIs(t, err, sessions.ErrFenced)
		require.Len(t, w.history(fresh.Session.Fence.Incarnation), 1)
	})
	f.run(t, "a request of a deleted life is told so", func(t *testing.T) { deleteClaims(t, f) })
	f.run(t, "a new life under the same id is empty", func(t *testing.T) { deleteAndRecreate(t, f) })
	f.run(t, "case-30: many rounds, then a late write of an old life", func(t *testing.T) {
		w := newWorld(t, f)
		var early sessions.AcceptedTurn
		lives := map[sessions.Incarnation]bool{}
		for i := range 520 {
			s := w.create(sessions.CreateSession{At: byID("same")})
			require.False(t, lives[s.Fence.Incarnation], "life %d came again", s.Fence.Incarnation)
			lives[s.Fence.Incarnation] = true
			if i == 200 {
				early = w.accept(w.prompt(byID("same"), "question"))
			}
			w.remove(byID("same"))
		}
		w.create(sessions.CreateSession{At: byID("same")})
		_, err := w.store.CommitTurn(t.Context(), w.answer(early, "late"))
		require.ErrorIs(t, err, sessions.ErrFenced)
	})
}

func deleteHides(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a, _ := w.turn(byKey("doc", "writer"), "question", "reply")
	life := a.Session.Fence.Incarnation
	receipt := w.remove(byKey("doc", "writer"))
	require.EqualValues(t, 1, receipt.Sessions)
	w.requireFrameless(receipt, 1, 5)
	delete(receipt.Rows, "activity_frames")
	delete(receipt.Rows, "frame_runs")
	require.Equal(t, map[string]int64{"sessions": 1, "session_messages": 2, "turns": 1, "dedupe_claims": 1, "usage": 1}, receipt.Rows)

	for _, at := range []sessions.Address{addressOf(a.Session), byKey("doc", "writer")} {
		_, err := w.store.Session(t.Context(), owner, at)
		requireCode(t, sessions.CodeSessionNotFound, err)
	}
	_, err := w.store.Messages(t.Context(), life, sessions.MessageQuery{})
	requireCode(t, sessions.CodeSessionNotFound, err)
	_, err = w.store.Frames(t.Context(), life, sessions.FrameQuery{})
	requireCode(t, sessions.CodeSessionNotFound, err)
	_, err = w.store.State(t.Context(), life, "")
	requireCode(t, sessions.CodeSessionNotFound, err)
	_, err = w.store.Turns(t.Context(), life, sessions.TurnQuery{})
	requireCode(t, sessions.CodeSessionNotFound, err)
	page, err := w.store.Sessions(t.Context(), sessions.SessionQuery{Owner: owner})
	require.NoError(t, err)
	require.Empty(t, page.Sessions)
	busy, err := w.store.BusyTurns(t.Context())
	require.NoError(t, err)
	require.Empty(t, busy)
	_, err = w.store.AcceptTurn(t.Context(), w.prompt(addressOf(a.Session), "new"))
	requireCode(t, sessions.CodeSessionNotFound, err)
}

// requireFrameless requires that frames of so many turns went, and that nothing
// is left of them or of others.
func (w *world) requireFrameless(receipt sessions.Receipt, turns, frames int) {
	w.t.Helper()
	if w.f.Files == nil {
		require.EqualValues(w.t, frames, receipt.Rows["activity_frames"])
		require.Zero(w.t, receipt.Files)
		return
	}
	require.EqualValues(w.t, turns, receipt.Files)
	require.Zero(w.t, receipt.Rows["activity_frames"])
	require.Empty(w.t, w.f.Files(w.t, w.store))
}

func deleteClaims(t *testing.T, f Factory) {
	w := newWorld(t, f)
	c := w.prompt(byKey("doc", "writer"), "question")
	a := w.accept(c)
	w.remove(byKey("doc", "writer"))

	_, err := w.store.AcceptTurn(t.Context(), w.again(c))
	requireCode(t, sessions.CodeSessionDeleted, err)
	other := w.again(c)
	other.Request.Fingerprint = fingerprint("another")
	_, err = w.store.AcceptTurn(t.Context(), other)
	requireCode(t, sessions.CodeRequestConflict, err)
	claim, found, err := w.store.Claim(t.Context(), owner, c.Request.ID, w.now)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, sessions.Claim{Fingerprint: c.Request.Fingerprint, Life: a.Session.Fence.Incarnation, Tombstone: true}, claim)

	w.now += 30 * day
	w.accept(w.again(c))
}

func deleteAndRecreate(t *testing.T, f Factory) {
	w := newWorld(t, f)
	old := w.create(sessions.CreateSession{At: byID("a"), Title: "old"})
	c := w.prompt(byID("a"), "question")
	w.accept(c)
	w.remove(byID("a"))
	fresh := w.create(sessions.CreateSession{At: byID("a")})
	require.Greater(t, fresh.Fence.Incarnation, old.Fence.Incarnation)
	require.Empty(t, fresh.Title)
	require.Empty(t, w.history(fresh.Fence.Incarnation))
	require.Empty(t, w.frames(fresh.Fence.Incarnation))
	_, found, err := w.store.Claim(t.Context(), owner, c.Request.ID, w.now)
	require.NoError(t, err)
	require.False(t, found, "using the id again drops its tombstones")
	a := w.accept(w.again(c))
	require.EqualValues(t, 1, a.User.Seq)
	require.EqualValues(t, 1, a.Frames[0].Seq)
}
