package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// testWaitRaces lets answers meet each other and the end of the wait.
func testWaitRaces(t *testing.T, f Factory) {
	f.run(t, "of two different answers exactly one is stored", func(t *testing.T) { raceAnswers(t, f, false) })
	f.run(t, "of two that are the same one is a repeat", func(t *testing.T) { raceAnswers(t, f, true) })
	f.run(t, "an answer and the end of its turn", func(t *testing.T) { raceAnswerAndEnd(t, f) })
	f.run(t, "an answer and a delete", func(t *testing.T) {
		w := newWorld(t, f)
		w.raced(func(int) (func(), func(), func(order)) {
			a := w.accept(w.prompt(byKey(w.name("doc"), "writer"), "question"))
			w.await(a, w.approval("c1"))
			var answerErr, deleteErr error
			return func() { _, answerErr = w.give(a.Session, "c1", verdict(true)) },
				func() { _, _, deleteErr = w.tryDelete(sessions.DeleteSession{At: addressOf(a.Session)}) },
				func(o order) {
					require.NoError(t, deleteErr)
					require.True(t, o == free || (answerErr == nil) == (o == otherFirst))
					if answerErr != nil {
						requireCode(t, sessions.CodeSessionNotFound, answerErr)
					}
					w.requireGone(a.Session.ID)
				}
		})
	})
}

func raceAnswers(t *testing.T, f Factory, same bool) {
	w := newWorld(t, f)
	w.raced(func(int) (func(), func(), func(order)) {
		a := w.accept(w.prompt(byKey(w.name("doc"), "writer"), "question"))
		w.await(a, w.approval("c1"))
		var first, second sessions.AnsweredCalls
		var firstErr, secondErr error
		return func() { first, firstErr = w.give(a.Session, "c1", verdict(true)) },
			func() { second, secondErr = w.give(a.Session, "c1", verdict(same)) },
			func(o order) {
				stored := verdict(true)
				switch {
				case same:
					require.NoError(t, firstErr)
					require.NoError(t, secondErr)
					require.NotEqual(t, first.Repeat, second.Repeat)
					require.True(t, o == free || second.Repeat == (o == otherFirst))
				case firstErr == nil:
					require.NotEqual(t, deleteFirst, o)
					requireCode(t, sessions.CodeConflict, secondErr)
				default:
					require.NotEqual(t, otherFirst, o)
					requireCode(t, sessions.CodeConflict, firstErr)
					require.NoError(t, secondErr)
					stored = verdict(false)
				}
				require.Equal(t, stored, w.waited(a).Answers["c1"])
				frames := w.frames(a.Session.Fence.Incarnation)
				requireGapless(t, frames)
				require.Len(t, frames, len(a.Frames)+3, "one frame tells of the answer")
			}
	})
}

func raceAnswerAndEnd(t *testing.T, f Factory) {
	w := newWorld(t, f)
	w.raced(func(int) (func(), func(), func(order)) {
		a := w.accept(w.prompt(byKey(w.name("doc"), "writer"), "question"))
		w.await(a, w.approval("c1"))
		step := w.step(a)
		step.End = &sessions.TurnEnd{Status: sessions.TurnIsCancelled, ClaimTTLMs: ttl}
		var answerErr, endErr error
		return func() { _, answerErr = w.give(a.Session, "c1", verdict(true)) },
			func() { _, endErr = w.store.CommitTurn(t.Context(), step) },
			func(o order) {
				require.NoError(t, endErr)
				require.True(t, o == free || (answerErr == nil) == (o == otherFirst))
				if answerErr == nil {
					w.repeated(a.Session, "c1", verdict(true))
				} else {
					requireCode(t, sessions.CodeNotFound, answerErr)
				}
				s := w.get(addressOf(a.Session))
				require.Equal(t, sessions.StatusIdle, s.Status)
				requireGapless(t, w.frames(a.Session.Fence.Incarnation))
			}
	})
}
