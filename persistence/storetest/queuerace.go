package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// testQueueRaces lets prompts meet the end of the turn that they wait for.
func testQueueRaces(t *testing.T, f Factory) {
	for _, policy := range []sessions.BusyPolicy{sessions.BusyQueue, sessions.BusyInterrupt, sessions.BusySteer} {
		f.run(t, string(policy)+": a prompt and the end of the active turn", func(t *testing.T) { racePromptAndEnd(t, f, policy) })
	}
	f.run(t, "a withdrawal and the start: exactly one wins", func(t *testing.T) { raceWithdrawAndStart(t, f) })
	f.run(t, "a withdrawal and the step that reads: exactly one wins", func(t *testing.T) { raceWithdrawAndSteer(t, f) })
	f.run(t, "a prompt and a delete that minds", func(t *testing.T) {
		w := newWorld(t, f)
		w.raced(func(int) (func(), func(), func(order)) {
			a := w.accept(w.prompt(byKey(w.name("doc"), "writer"), "question"))
			done := w.commit(w.answer(a, "reply"))
			c := w.aside(done.Session, sessions.BusyQueue, "next")
			var promptErr, deleteErr error
			return func() { _, promptErr = w.store.AcceptTurn(t.Context(), c) },
				func() {
					_, _, deleteErr = w.tryDelete(sessions.DeleteSession{At: addressOf(a.Session), RejectIfBusy: true})
				},
				func(order) {
					if deleteErr == nil {
						requireCode(t, sessions.CodeSessionNotFound, promptErr)
						return
					}
					require.ErrorIs(t, deleteErr, sessions.ErrTreeBusy)
					require.NoError(t, promptErr)
				}
		})
	})
	f.run(t, "a prompt and a close", func(t *testing.T) { raceQueueAndClose(t, f) })
}

// racePromptAndEnd requires that a prompt is queued and then started, or started
// at once: never both, never neither.
func racePromptAndEnd(t *testing.T, f Factory, policy sessions.BusyPolicy) {
	w := newWorld(t, f)
	w.raced(func(int) (func(), func(), func(order)) {
		a := w.accept(w.prompt(byKey(w.name("doc"), "writer"), "question"))
		life, fence := a.Session.Fence.Incarnation, a.Session.Fence
		c := w.aside(a.Session, policy, "next")
		var got sessions.AcceptedTurn
		var promptErr, endErr error
		prompt := func() { got, promptErr = w.store.AcceptTurn(t.Context(), c) }
		end := func() { _, endErr = w.store.CommitTurn(t.Context(), w.answer(a, "reply")) }
		return prompt, end, func(o order) {
			require.NoError(t, promptErr)
			require.NoError(t, endErr)
			first := got.Turn.Status != sessions.TurnIsRunning || got.Steers
			switch {
			case first:
				require.NotEqual(t, deleteFirst, o)
				got = w.startNext(fence)
			default:
				require.NotEqual(t, otherFirst, o)
			}
			w.requireNoStart(fence)
			require.Equal(t, c.TurnID, got.Turn.TurnID)
			w.commit(w.answer(got, "second reply"))
			require.Len(t, w.history(life), 4)
			require.EqualValues(t, 2, w.get(addressOf(a.Session)).TurnCount)
			require.Equal(t, "second reply", sessions.TextOf(w.repeat(c).Final.Content))
			requireGapless(t, w.frames(life))
		}
	})
}

func raceWithdrawAndStart(t *testing.T, f Factory) {
	w := newWorld(t, f)
	w.raced(func(int) (func(), func(), func(order)) {
		a := w.accept(w.prompt(byKey(w.name("doc"), "writer"), "question"))
		fence := a.Session.Fence
		b := w.keep(a.Session, sessions.BusyQueue, "queued")
		w.commit(w.answer(a, "reply"))
		var started, withdrawn bool
		var startErr, withdrawErr error
		start := func() {
			_, started, startErr = w.store.StartTurn(t.Context(), sessions.StartTurn{Fence: fence, Now: w.now})
		}
		withdraw := func() {
			_, withdrawn, withdrawErr = w.store.WithdrawTurn(t.Context(),
				sessions.WithdrawTurn{Fence: fence, RequestID: b.Turn.RequestID, ClaimTTLMs: ttl, Now: w.now})
		}
		return start, withdraw, func(o order) {
			require.NoError(t, startErr)
			require.NoError(t, withdrawErr)
			require.NotEqual(t, started, withdrawn)
			require.True(t, o == free || started == (o == otherFirst))
			s := w.get(addressOf(a.Session))
			require.EqualValues(t, 0, s.Queued)
			require.Equal(t, started, s.Status == sessions.StatusRunning)
		}
	})
}

func raceWithdrawAndSteer(t *testing.T, f Factory) {
	w := newWorld(t, f)
	w.raced(func(int) (func(), func(), func(order)) {
		a := w.accept(w.prompt(byKey(w.name("doc"), "writer"), "question"))
		c := w.aside(a.Session, sessions.BusySteer, "text")
		w.accept(c)
		step := w.step(a)
		step.Steer = true
		var done sessions.CommittedTurn
		var withdrawn bool
		var commitErr, withdrawErr error
		read := func() { done, commitErr = w.store.CommitTurn(t.Context(), step) }
		withdraw := func() {
			_, withdrawn, withdrawErr = w.store.WithdrawTurn(t.Context(),
				sessions.WithdrawTurn{Fence: a.Session.Fence, RequestID: c.Request.ID, ClaimTTLMs: ttl, Now: w.now})
		}
		return read, withdraw, func(o order) {
			require.NoError(t, commitErr)
			require.NoError(t, withdrawErr)
			require.NotEqual(t, withdrawn, len(done.Steered) == 1)
			require.True(t, o == free || withdrawn == (o == deleteFirst))
			a.Session = w.get(addressOf(a.Session))
			end := w.commit(w.answer(a, "reply"))
			require.Empty(t, end.Queued)
			require.Equal(t, withdrawn, w.repeat(c).Turn.Status == sessions.TurnIsCancelled)
			requireGapless(t, w.frames(a.Session.Fence.Incarnation))
		}
	})
}

func raceQueueAndClose(t *testing.T, f Factory) {
	w := newWorld(t, f)
	w.raced(func(int) (func(), func(), func(order)) {
		a := w.accept(w.prompt(byKey(w.name("doc"), "writer"), "question"))
		w.keep(a.Session, sessions.BusyQueue, "queued")
		w.end(a, sessions.TurnIsCancelled, nil)
		c := w.aside(a.Session, sessions.BusyQueue, "next")
		var promptErr, closeErr error
		prompt := func() { _, promptErr = w.store.AcceptTurn(t.Context(), c) }
		shut := func() {
			_, closeErr = w.store.CloseSession(t.Context(), sessions.CloseSession{Owner: owner, At: addressOf(a.Session), Now: w.now})
		}
		return prompt, shut, func(o order) {
			require.NoError(t, closeErr)
			require.EqualValues(t, 0, w.get(addressOf(a.Session)).Queued)
			if promptErr != nil {
				require.NotEqual(t, otherFirst, o)
				requireCode(t, sessions.CodeSessionClosed, promptErr)
				return
			}
			require.NotEqual(t, deleteFirst, o)
			require.Equal(t, sessions.CodeSessionClosed, w.repeat(c).Turn.Error.Code)
		}
	})
}
