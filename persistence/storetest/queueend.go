package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// testQueueEnd ends sessions, and hosts, that have prompts in store.
func testQueueEnd(t *testing.T, f Factory) {
	f.run(t, "case-50: a close ends queued turns in their order", func(t *testing.T) { closeQueued(t, f) })
	f.run(t, "case-50: a delete ends queued turns and text", func(t *testing.T) {
		endQueuedLife(t, f, func(w *world, at sessions.Address) { w.remove(at) })
	})
	f.run(t, "case-50: a clear ends queued turns and text", func(t *testing.T) {
		endQueuedLife(t, f, func(w *world, _ sessions.Address) { w.clear(owner) })
	})
	f.run(t, "case-50: after a restart queued turns run, and the same request joins", func(t *testing.T) {
		if f.Reopen == nil {
			t.Skip("this store cannot be opened again")
		}
		w := newWorld(t, f)
		a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		prompts := []sessions.AcceptTurn{w.aside(a.Session, sessions.BusyQueue, "one"), w.aside(a.Session, sessions.BusyQueue, "two")}
		for _, c := range prompts {
			w.accept(c)
		}
		w.end(a, sessions.TurnIsInterrupted, failure(sessions.CodeHostRestarted))
		w.reopen()
		for _, c := range prompts {
			require.Equal(t, sessions.TurnIsQueued, w.repeat(c).Turn.Status)
		}
		fence := w.get(addressOf(a.Session)).Fence
		require.Equal(t, []string{"one", "two"}, w.runQueue(fence))
		for _, c := range prompts {
			require.Equal(t, "reply", sessions.TextOf(w.repeat(c).Final.Content))
		}
	})
	f.run(t, "a fork takes none of them along", func(t *testing.T) {
		w := newWorld(t, f)
		a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		w.keep(a.Session, sessions.BusyQueue, "queued")
		w.keep(a.Session, sessions.BusySteer, "text")
		_, err := w.store.ForkSession(t.Context(), w.fork(addressOf(a.Session), 0))
		optional(t, err)
		fork := w.forked(w.fork(addressOf(a.Session), 0))
		require.EqualValues(t, 0, fork.Queued)
		require.Len(t, w.history(fork.Fence.Incarnation), 1)
		w.requireNoStart(fork.Fence)
		w.commit(w.answer(a, "reply"))
		require.Equal(t, []string{"text", "queued"}, w.runQueue(a.Session.Fence))
	})
	f.run(t, "neither what is passed in nor what is returned is what waits", func(t *testing.T) { queueCopies(t, f) })
	f.run(t, "nothing of what waited is left", func(t *testing.T) { queueLeavesNothing(t, f) })
}

func closeQueued(t *testing.T, f Factory) {
	w := newWorld(t, f)
	key := byKey("doc", "writer")
	a := w.accept(w.prompt(key, "question"))
	life := a.Session.Fence.Incarnation
	var prompts []sessions.AcceptTurn
	for _, policy := range []sessions.BusyPolicy{sessions.BusyInterrupt, sessions.BusyQueue, sessions.BusyQueue} {
		c := w.aside(a.Session, policy, "queued words")
		w.accept(c)
		prompts = append(prompts, c)
	}
	_, err := w.close(key, "")
	requireCode(t, sessions.CodeAgentBusy, err)
	before := w.end(a, sessions.TurnIsCancelled, nil).Session
	done, err := w.close(key, "enough")
	require.NoError(t, err)

	want := before
	want.Status, want.ClosedAt, want.ClosedReason, want.Queued = sessions.StatusClosed, w.now, "enough", 0
	want.Fence.Epoch++
	want.LastFrame += 4
	require.Equal(t, want, done.Session)
	require.Equal(t, want, w.get(key))
	require.Len(t, done.Frames, 4)
	for i, c := range prompts {
		turn := w.repeat(c).Turn
		require.Equal(t, c.TurnID, turn.TurnID)
		require.Equal(t, sessions.TurnIsFailed, turn.Status)
		require.Equal(t, sessions.CodeSessionClosed, turn.Error.Code)
		require.Equal(t, w.now, turn.EndedAt)
		frame := done.Frames[i]
		require.Equal(t, sessions.Failed{Error: turn.Error}, frame.Body)
		require.Equal(t, c.TurnID, frame.TurnID)
		require.Equal(t, c.Request.ID, frame.RequestID)
		require.Equal(t, frame.Seq, turn.LastFrame)
	}
	require.Equal(t, sessions.Closed{}, done.Frames[3].Body)
	require.Equal(t, done.Frames, w.frames(life)[before.LastFrame:])
	requireGapless(t, w.frames(life))
	busy, err := w.store.BusyTurns(t.Context())
	require.NoError(t, err)
	require.Empty(t, busy)
	if f.Rows != nil {
		require.Empty(t, w.rowsWith("queued words"))
	}
	_, err = w.store.AcceptTurn(t.Context(), w.aside(done.Session, sessions.BusyQueue, "late"))
	requireCode(t, sessions.CodeSessionClosed, err)
	w.now += ttl
	_, found, err := w.store.Claim(t.Context(), owner, prompts[0].Request.ID, w.now)
	require.NoError(t, err)
	require.False(t, found)
}

func endQueuedLife(t *testing.T, f Factory, end func(*world, sessions.Address)) {
	w := newWorld(t, f)
	key := byKey("doc", "writer")
	a := w.accept(w.prompt(key, "question"))
	prompts := []sessions.AcceptTurn{w.aside(a.Session, sessions.BusyQueue, "marked"), w.aside(a.Session, sessions.BusyInterrupt, "marked"),
		w.aside(a.Session, sessions.BusySteer, "marked")}
	for _, c := range prompts {
		w.accept(c)
	}
	end(w, key)
	for _, c := range prompts {
		_, err := w.store.AcceptTurn(t.Context(), w.again(c))
		requireCode(t, sessions.CodeSessionDeleted, err)
	}
	busy, err := w.store.BusyTurns(t.Context())
	require.NoError(t, err)
	require.Empty(t, busy)
	_, _, err = w.store.StartTurn(t.Context(), sessions.StartTurn{Fence: a.Session.Fence, Now: w.now})
	require.ErrorIs(t, err, sessions.ErrFenced)
	_, _, err = w.store.WithdrawTurn(t.Context(), sessions.WithdrawTurn{Fence: a.Session.Fence, RequestID: prompts[0].Request.ID, Now: w.now})
	require.ErrorIs(t, err, sessions.ErrFenced)
	_, err = w.store.AcceptTurn(t.Context(), w.aside(a.Session, sessions.BusyQueue, "late"))
	requireCode(t, sessions.CodeSessionNotFound, err)
	if f.Rows != nil {
		require.Empty(t, w.rowsWith("marked"))
	}
	w.turn(key, "fresh", "reply")
}

// queueLeavesNothing looks for what was kept aside once it is of no more use.
func queueLeavesNothing(t *testing.T, f Factory) {
	w := newWorld(t, f)
	w.turn(byKey("first", "writer"), "question", "reply")
	before := w.census()
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	for i := range 3 {
		w.keep(a.Session, sessions.BusyQueue, fmt.Sprint("marked ", i))
		w.keep(a.Session, sessions.BusyInterrupt, fmt.Sprint("marked ", i))
		w.keep(a.Session, sessions.BusySteer, fmt.Sprint("marked ", i))
	}
	receipt := w.remove(addressOf(a.Session))
	require.EqualValues(t, 9, receipt.Rows["pending_prompts"])
	require.Equal(t, before, w.census())
	a = w.accept(w.prompt(byKey("doc", "writer"), "question"))
	w.keep(a.Session, sessions.BusyQueue, "queued")
	w.keep(a.Session, sessions.BusySteer, "text")
	w.commit(w.answer(a, "reply"))
	w.runQueue(a.Session.Fence)
	receipt = w.remove(addressOf(a.Session))
	require.Zero(t, receipt.Rows["pending_prompts"], "what has started is kept once")
	require.Equal(t, before, w.census())
}

func queueCopies(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	queued, text := w.aside(a.Session, sessions.BusyQueue, "queued"), w.aside(a.Session, sessions.BusySteer, "text")
	seed := int64(7)
	queued.Inference.Params.Seed = &seed
	w.accept(queued)
	w.accept(text)
	queued.Content[0].Text, text.Content[0].Text, seed = "spoilt", "spoilt", 8
	step := w.step(a)
	step.Steer = true
	done := w.commit(step)
	done.Steered[0].Content[0].Text = "spoilt"
	a.Session = done.Session
	w.commit(w.answer(a, "reply"))
	started := w.startNext(a.Session.Fence)
	require.EqualValues(t, 7, *started.Turn.Inference.Params.Seed)
	started.User.Content[0].Text, *started.Turn.Inference.Params.Seed = "spoilt", 8

	life := a.Session.Fence.Incarnation
	var texts []string
	for _, m := range w.history(life) {
		texts = append(texts, sessions.TextOf(m.Content))
	}
	require.Equal(t, []string{"question", "text", "reply", "queued"}, texts)
	for _, frame := range w.frames(life) {
		if appended, ok := frame.Body.(sessions.MessageAppended); ok {
			require.NotEqual(t, "spoilt", sessions.TextOf(appended.Message.Content))
		}
	}
	require.EqualValues(t, 7, *w.turnAt(life, queued.TurnID).Inference.Params.Seed)
}
