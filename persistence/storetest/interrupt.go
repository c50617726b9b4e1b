package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testInterrupt(t *testing.T, f Factory) {
	f.run(t, "the order of sixteen and of those that interrupt, over a restart", func(t *testing.T) { interruptOrder(t, f) })
	f.run(t, "those that are to interrupt the active turn are told", func(t *testing.T) { interruptsTold(t, f) })
	f.run(t, "a retry takes up the turn that started last", func(t *testing.T) { interruptRetries(t, f) })
}

func interruptOrder(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	life, fence := a.Session.Fence.Incarnation, a.Session.Fence
	var inOrder, interrupts []string
	for i := range queueLimit {
		if text := fmt.Sprint(i); i%5 == 4 {
			w.keep(a.Session, sessions.BusyInterrupt, text)
			interrupts = append([]string{text}, interrupts...)
		} else {
			w.keep(a.Session, sessions.BusyQueue, text)
			inOrder = append(inOrder, text)
		}
	}
	want := append(interrupts, inOrder...)
	require.Equal(t, sessions.StatusRunning, w.get(addressOf(a.Session)).Status, "to cancel is another's to do")
	queued := w.queuedTurns(life)
	require.Len(t, queued, queueLimit)
	if f.Reopen != nil {
		w.reopen()
		require.Equal(t, queued, w.queuedTurns(life))
	}
	w.end(a, sessions.TurnIsCancelled, nil)
	var got []string
	for i, id := range queued {
		if i == len(queued)/2 && f.Reopen != nil {
			w.reopen()
		}
		started := w.startNext(fence)
		require.Equal(t, id, started.Turn.TurnID)
		require.EqualValues(t, queueLimit-i-1, started.Session.Queued)
		got = append(got, sessions.TextOf(started.User.Content))
		// Whatever ends a turn, the next one can start.
		switch i % 3 {
		case 0:
			w.commit(w.answer(started, "reply"))
		case 1:
			w.end(started, sessions.TurnIsFailed, failure(sessions.CodeLLMAPIFailure))
		case 2:
			w.end(started, sessions.TurnIsCancelled, nil)
		}
	}
	require.Equal(t, want, got)
	w.requireNoStart(fence)
	require.EqualValues(t, queueLimit+1, w.get(addressOf(a.Session)).TurnCount)
	requireGapless(t, w.frames(life))
}

// interruptsTold asks, as a host does at its start, which turns are to run
// instead of the active one.
func interruptsTold(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	told := func(want ...sessions.TurnID) {
		t.Helper()
		if f.Reopen != nil {
			w.reopen()
		}
		busy, err := w.store.BusyTurns(t.Context())
		require.NoError(t, err)
		var got []sessions.TurnID
		for _, b := range busy {
			if b.Interrupts {
				got = append(got, b.Turn.TurnID)
			}
		}
		require.Equal(t, want, got)
	}
	w.keep(a.Session, sessions.BusyQueue, "queued")
	w.keep(a.Session, sessions.BusySteer, "text")
	told()
	first := w.keep(a.Session, sessions.BusyInterrupt, "first").Turn.TurnID
	second := w.keep(a.Session, sessions.BusyInterrupt, "second").Turn.TurnID
	told(second, first)
	w.end(a, sessions.TurnIsCancelled, nil)
	told()
	next := w.startNext(a.Session.Fence)
	require.Equal(t, second, next.Turn.TurnID)
	told() // the first was not sent to interrupt the second
	third := w.keep(next.Session, sessions.BusyInterrupt, "third").Turn.TurnID
	told(third)
	w.end(next, sessions.TurnIsCancelled, nil)
	require.Equal(t, []string{"third", "first", "queued"}, w.runQueue(a.Session.Fence))
}

func interruptRetries(t *testing.T, f Factory) {
	w := newWorld(t, f)
	key := byKey("doc", "writer")
	a := w.accept(w.prompt(key, "question"))
	fence := a.Session.Fence
	last := w.keep(a.Session, sessions.BusyQueue, "last")
	w.keep(a.Session, sessions.BusyInterrupt, "next")
	never := w.keep(a.Session, sessions.BusyQueue, "never")
	w.end(a, sessions.TurnIsCancelled, nil)
	w.commit(w.answer(w.startNext(fence), "reply"))
	w.withdraw(fence, never.Turn.RequestID)
	failed := w.startNext(fence)
	require.Equal(t, last.Turn.TurnID, failed.Turn.TurnID)
	w.end(failed, sessions.TurnIsFailed, failure(sessions.CodeLLMAPIFailure))
	_, err := w.store.AcceptTurn(t.Context(), w.retry(key, never.Turn.TurnID))
	requireCode(t, sessions.CodeConflict, err)
	again := w.accept(w.retry(key, last.Turn.TurnID))
	require.Equal(t, failed.Turn.UserSeq, again.Turn.UserSeq)
}
