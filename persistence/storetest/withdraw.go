package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testWithdraw(t *testing.T, f Factory) {
	f.run(t, "a queued turn", func(t *testing.T) { withdrawQueued(t, f) })
	f.run(t, "text that waits", func(t *testing.T) { withdrawText(t, f) })
	f.run(t, "what does not wait is left alone", func(t *testing.T) {
		w := newWorld(t, f)
		a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		b := w.keep(a.Session, sessions.BusyQueue, "queued")
		read := w.aside(a.Session, sessions.BusySteer, "read")
		w.accept(read)
		step := w.step(a)
		step.Steer = true
		a.Session = w.commit(step).Session
		other := w.accept(w.prompt(byKey("other", "writer"), "question"))
		elsewhere := w.keep(other.Session, sessions.BusyQueue, "elsewhere")
		none := func(ids ...sessions.RequestID) {
			t.Helper()
			before := w.rows()
			for _, id := range ids {
				got, found, err := w.store.WithdrawTurn(t.Context(), sessions.WithdrawTurn{Fence: a.Session.Fence, RequestID: id, Now: w.now})
				require.NoError(t, err)
				require.False(t, found)
				require.Equal(t, sessions.WithdrawnTurn{}, got)
			}
			require.Equal(t, before, w.rows())
		}
		none("nobody", a.Turn.RequestID, read.Request.ID, elsewhere.Turn.RequestID)
		w.commit(w.answer(a, "reply"))
		started := w.startNext(a.Session.Fence)
		none(b.Turn.RequestID)
		w.commit(w.answer(started, "reply"))
		none(b.Turn.RequestID)
	})
	f.run(t, "an old activation withdraws nothing", func(t *testing.T) {
		w := newWorld(t, f)
		a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		b := w.keep(a.Session, sessions.BusyQueue, "queued")
		old := a.Session.Fence
		old.Epoch--
		_, _, err := w.store.WithdrawTurn(t.Context(), sessions.WithdrawTurn{Fence: old, RequestID: b.Turn.RequestID, Now: w.now})
		require.ErrorIs(t, err, sessions.ErrFenced)
		require.Equal(t, []sessions.TurnID{b.Turn.TurnID}, w.queuedTurns(old.Incarnation))
	})
	f.run(t, "the turns of a damaged session end with the reason", func(t *testing.T) { withdrawDamaged(t, f) })
}

func withdrawQueued(t *testing.T, f Factory) {
	w := newWorld(t, f)
	key := byKey("doc", "writer")
	a := w.accept(w.prompt(key, "question"))
	life, fence := a.Session.Fence.Incarnation, a.Session.Fence
	c := w.aside(a.Session, sessions.BusyQueue, "withdrawn words")
	b := w.accept(c)
	w.keep(a.Session, sessions.BusyQueue, "stays")
	w.now += minute
	before := w.get(key)
	got := w.withdraw(fence, c.Request.ID)

	session := before
	session.Queued, session.LastFrame = 1, before.LastFrame+1
	turn := b.Turn
	turn.Status, turn.EndedAt, turn.FirstFrame, turn.LastFrame = sessions.TurnIsCancelled, w.now, session.LastFrame, session.LastFrame
	frame := sessions.Frame{Seq: session.LastFrame, Cursor: sessions.CursorAt(life, session.LastFrame), TurnID: c.TurnID,
		RequestID: c.Request.ID, At: w.now, Body: sessions.Cancelled{}}
	require.Equal(t, sessions.WithdrawnTurn{Session: session, Turn: turn, Frames: []sessions.Frame{frame}}, got)
	require.Equal(t, session, w.get(key))
	require.Equal(t, turn, w.turnAt(life, c.TurnID))
	require.Equal(t, turn, w.repeat(c).Turn)
	if f.Rows != nil {
		require.Empty(t, w.rowsWith("withdrawn words"))
	}
	w.commit(w.answer(a, "reply"))
	require.Equal(t, []string{"stays"}, w.runQueue(fence))
	require.EqualValues(t, 2, w.get(key).TurnCount, "it never started")
	requireGapless(t, w.frames(life))
	if f.Reopen != nil {
		w.reopen()
		require.Equal(t, turn, w.repeat(c).Turn)
	}
	w.now += ttl
	_, found, err := w.store.Claim(t.Context(), owner, c.Request.ID, w.now)
	require.NoError(t, err)
	require.False(t, found)
}

func withdrawText(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	life, fence := a.Session.Fence.Incarnation, a.Session.Fence
	c := w.aside(a.Session, sessions.BusySteer, "withdrawn words")
	w.accept(c)
	w.keep(a.Session, sessions.BusySteer, "stays")
	w.now += minute
	got := w.withdraw(fence, c.Request.ID)
	require.Equal(t, c.TurnID, got.Turn.TurnID)
	require.Equal(t, c.Request.ID, got.Turn.RequestID)
	require.Equal(t, sessions.TurnIsCancelled, got.Turn.Status)
	require.EqualValues(t, 0, got.Session.Queued)
	require.Equal(t, got.Turn, w.turnAt(life, c.TurnID))
	require.Equal(t, got.Turn, w.repeat(c).Turn)
	require.Equal(t, got.Frames[0], w.frames(life)[got.Session.LastFrame-1])
	step := w.step(a)
	step.Steer = true
	done := w.commit(step)
	require.Len(t, done.Steered, 1)
	require.Equal(t, "stays", sessions.TextOf(done.Steered[0].Content))
	a.Session = done.Session
	w.commit(w.answer(a, "reply"))
	w.requireNoStart(fence)
	requireGapless(t, w.frames(life))
}

func withdrawDamaged(t *testing.T, f Factory) {
	if f.Damage == nil {
		t.Skip("this store cannot be damaged behind its back")
	}
	w := newWorld(t, f)
	key := byKey("doc", "writer")
	a := w.accept(w.prompt(key, "question"))
	life, fence := a.Session.Fence.Incarnation, a.Session.Fence
	c := w.aside(a.Session, sessions.BusyQueue, "queued")
	w.accept(c)
	w.commit(w.answer(a, "reply"))
	f.Damage(t, w.store, life)
	_, err := w.store.Messages(t.Context(), life, sessions.MessageQuery{})
	requireCode(t, sessions.CodeSessionDamaged, err)
	_, _, err = w.store.StartTurn(t.Context(), sessions.StartTurn{Fence: fence, Now: w.now})
	requireCode(t, sessions.CodeSessionDamaged, err)
	_, err = w.store.AcceptTurn(t.Context(), w.aside(a.Session, sessions.BusyQueue, "more"))
	requireCode(t, sessions.CodeSessionDamaged, err)

	reason := failure(sessions.CodeSessionDamaged)
	got, found, err := w.store.WithdrawTurn(t.Context(), sessions.WithdrawTurn{Fence: fence, RequestID: c.Request.ID, Failure: reason,
		ClaimTTLMs: ttl, Now: w.now})
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, sessions.TurnIsFailed, got.Turn.Status)
	require.Equal(t, reason, got.Turn.Error)
	require.Equal(t, sessions.Failed{Error: reason}, got.Frames[0].Body)
	require.EqualValues(t, 0, w.get(key).Queued)
	require.Equal(t, got.Turn, w.repeat(c).Turn)
	w.remove(key)
}
