package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// testAnswers looks at what clients answer to calls that wait for them.
func testAnswers(t *testing.T, f Factory) {
	f.run(t, "answers are stored with their frames, in any order", func(t *testing.T) { answersStored(t, f) })
	f.run(t, "case-42: an answer is kept over a restart, and the turn goes on with it", func(t *testing.T) { answersSurvive(t, f) })
	f.run(t, "the same answer again is known, another one conflicts", func(t *testing.T) { answersRepeated(t, f) })
	f.run(t, "each kind of call takes its kind of answer", func(t *testing.T) {
		w := newWorld(t, f)
		a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		w.await(a, w.clientCall("tool", `{}`), w.approval("ask"))
		w.refusedAnswer(sessions.CodeInvalidRequest, a.Session, "tool", verdict(true))
		w.refusedAnswer(sessions.CodeInvalidRequest, a.Session, "ask", output(`1`))
		w.refusedAnswer(sessions.CodeInvalidRequest, a.Session, "ask", refusal("no"))
		w.answered(a.Session, "tool", refusal("no"))
		w.answered(a.Session, "ask", verdict(false))
		w.refusedAnswer(sessions.CodeInvalidRequest, a.Session, "tool", verdict(true))
	})
	f.run(t, "a call may need an approval and then a client", func(t *testing.T) {
		w := newWorld(t, f)
		a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		w.await(a, w.approval("c1"))
		w.answered(a.Session, "c1", verdict(true))
		w.goOn(a)
		w.await(a, w.clientCall("c1", `{}`))
		w.repeated(a.Session, "c1", verdict(true))
		w.refusedAnswer(sessions.CodeConflict, a.Session, "c1", verdict(false))
		w.answered(a.Session, "c1", output(`1`))
		require.Equal(t, map[sessions.CallID]sessions.CallAnswer{"c1": output(`1`)}, w.waited(a).Answers)
	})
	f.run(t, "a call without an answer is unknown once it has ended", func(t *testing.T) {
		for _, ends := range []bool{false, true} {
			w := newWorld(t, f)
			a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
			w.await(a, w.approval("given"), w.approval("missed"))
			w.answered(a.Session, "given", verdict(true))
			if ends {
				w.end(a, sessions.TurnIsCancelled, nil)
			} else {
				w.goOn(a)
			}
			w.refusedAnswer(sessions.CodeNotFound, a.Session, "missed", verdict(true))
			w.repeated(a.Session, "given", verdict(true))
		}
	})
	f.run(t, "several answers are stored together or not at all", func(t *testing.T) { answersTogether(t, f) })
	f.run(t, "answers are given once under a request id", func(t *testing.T) { answersClaimed(t, f) })
	f.run(t, "who answers must know the session", func(t *testing.T) { answersRefused(t, f) })
}

func answersTogether(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	w.await(a, w.approval("c1"), w.clientCall("c2", `{}`), w.clientCall("c3", `{}`))
	give := func(answers ...sessions.GivenAnswer) (sessions.AnsweredCalls, error) {
		return w.store.AnswerCalls(t.Context(), sessions.AnswerCalls{Owner: owner, At: addressOf(a.Session), Answers: answers, Now: w.now})
	}
	before := w.get(addressOf(a.Session))
	yes, two := sessions.GivenAnswer{CallID: "c1", Answer: verdict(true)}, sessions.GivenAnswer{CallID: "c2", Answer: output(`2`)}
	for code, second := range map[sessions.Code]sessions.GivenAnswer{
		sessions.CodeNotFound:       {CallID: "c9", Answer: output(`2`)},
		sessions.CodeInvalidRequest: {CallID: "c2", Answer: verdict(true)},
		sessions.CodeConflict:       {CallID: "c1", Answer: verdict(false)},
	} {
		_, err := give(yes, second)
		requireCode(t, code, err)
		require.Equal(t, before, w.get(addressOf(a.Session)))
		require.Empty(t, w.waited(a).Answers)
	}
	done, err := give(yes, two, yes)
	require.NoError(t, err)
	require.False(t, done.Repeat)
	require.Len(t, done.Frames, 2)
	require.Equal(t, []sessions.FrameBody{sessions.Answered{CallID: "c1"}, sessions.Answered{CallID: "c2"}},
		[]sessions.FrameBody{done.Frames[0].Body, done.Frames[1].Body})
	require.Len(t, done.Session.Pending, 1)
	require.Equal(t, done.Session, w.get(addressOf(a.Session)))
	done, err = give(two, sessions.GivenAnswer{CallID: "c3", Answer: output(`3`)})
	require.NoError(t, err)
	require.False(t, done.Repeat, "one of them was new")
	require.Len(t, done.Frames, 1)
	done, err = give(yes, two)
	require.NoError(t, err)
	require.True(t, done.Repeat)
}

func answersClaimed(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	w.await(a, w.approval("c1"), w.clientCall("c2", `{}`))
	give := func(what string, answers ...sessions.GivenAnswer) (sessions.AnsweredCalls, error) {
		return w.store.AnswerCalls(t.Context(), sessions.AnswerCalls{Owner: owner, At: addressOf(a.Session), Answers: answers, Now: w.now,
			Request: &sessions.Request{ID: "r", Fingerprint: fingerprint(what), TTLMs: ttl}})
	}
	yes, two := sessions.GivenAnswer{CallID: "c1", Answer: verdict(true)}, sessions.GivenAnswer{CallID: "c2", Answer: output(`2`)}
	_, err := give("yes", yes, sessions.GivenAnswer{CallID: "c9", Answer: output(`1`)})
	require.ErrorIs(t, err, sessions.ErrNoCall)
	_, known, err := w.store.Claim(t.Context(), owner, "r", w.now)
	require.NoError(t, err)
	require.False(t, known, "what is refused claims nothing")

	first, err := give("yes", yes)
	require.NoError(t, err)
	require.False(t, first.Repeat)
	require.False(t, first.Claimed)
	_, err = give("two", two)
	require.ErrorIs(t, err, sessions.ErrOtherRequest)
	w.answered(a.Session, "c2", output(`2`))
	w.goOn(a)
	w.await(a, w.clientCall("c1", `{}`))
	again, err := give("yes", yes)
	require.NoError(t, err)
	require.Equal(t, sessions.AnsweredCalls{Session: w.get(addressOf(a.Session)), TurnID: a.Turn.TurnID, Repeat: true, Claimed: true}, again)
	require.Empty(t, w.waited(a).Answers, "what waits now is not what was answered")

	w.end(a, sessions.TurnIsCancelled, nil)
	w.remove(addressOf(a.Session))
	_, err = give("yes", yes)
	require.ErrorIs(t, err, sessions.ErrRequestDeleted)
}

func answersStored(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	life := a.Session.Fence.Incarnation
	calls := []sessions.Pending{w.clientCall("c1", `{}`), w.clientCall("c2", `{}`), w.clientCall("c3", `{}`), w.approval("c4")}
	last := w.await(a, calls...)
	answers := map[sessions.CallID]sessions.CallAnswer{"c2": output(`{"z":"<&>","a":[9007199254740993,null]}`),
		"c4": verdict(false), "c1": output(`null`), "c3": refusal("")}
	left := calls
	for i, id := range []sessions.CallID{"c2", "c4", "c1", "c3"} {
		w.now += minute
		got := w.answered(a.Session, id, answers[id])
		require.Equal(t, a.Turn.TurnID, got.TurnID)
		require.Equal(t, []sessions.Frame{{Seq: last.Session.LastFrame + int64(i) + 1,
			Cursor: sessions.CursorAt(life, last.Session.LastFrame+int64(i)+1), TurnID: a.Turn.TurnID, RequestID: a.Turn.RequestID,
			At: w.now, Body: sessions.Answered{CallID: id}}}, got.Frames)
		left = without(left, id)
		require.Equal(t, left, got.Session.Pending)
		require.Equal(t, noon, got.Session.LastActiveAt, "an answer is no activity in the list's sense")
		require.Equal(t, sessions.StatusWaiting, got.Session.Status)
		require.Equal(t, got.Session, w.get(addressOf(a.Session)))
	}
	require.Equal(t, sessions.WaitedCalls{Pending: calls, Answers: answers}, w.waited(a))
	require.True(t, w.waited(a).Answered())
	require.Equal(t, []sessions.Pending{}, w.get(addressOf(a.Session)).Pending)
	require.Len(t, w.history(life), 2, "answers enter the history with the step that goes on")
	requireGapless(t, w.frames(life))
	of, err := w.store.Frames(t.Context(), life, sessions.FrameQuery{TurnID: a.Turn.TurnID})
	require.NoError(t, err)
	require.Equal(t, w.frames(life), of.Frames)
}

// without returns the calls but one, never nil.
func without(calls []sessions.Pending, id sessions.CallID) []sessions.Pending {
	left := []sessions.Pending{}
	for _, p := range calls {
		if p.CallID != id {
			left = append(left, p)
		}
	}
	return left
}

func answersSurvive(t *testing.T, f Factory) {
	if f.Reopen == nil {
		t.Skip("this store cannot be opened again")
	}
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	calls := []sessions.Pending{w.clientCall("c1", `{"a": 1}`), w.approval("c2")}
	w.await(a, calls...)
	w.reopen()
	got := w.answered(a.Session, "c1", output(`{"b":2,"a":1}`))
	w.reopen()
	require.Equal(t, sessions.WaitedCalls{Pending: calls,
		Answers: map[sessions.CallID]sessions.CallAnswer{"c1": output(`{"b":2,"a":1}`)}}, w.waited(a), "with the very bytes")
	busy, err := w.store.BusyTurns(t.Context())
	require.NoError(t, err)
	require.Len(t, busy, 1)
	require.Equal(t, got.Session, busy[0].Session)
	require.Equal(t, calls[1:], busy[0].Session.Pending)
	require.Equal(t, got.Frames[0], w.frames(a.Session.Fence.Incarnation)[got.Frames[0].Seq-1])
	w.repeated(a.Session, "c1", output(`{"a":1,"b":2}`))
	w.answered(a.Session, "c2", verdict(true))
	w.reopen()
	w.goOn(a, "c1", "c2")
	w.reopen()
	w.repeated(a.Session, "c1", output(`{"b":2,"a":1}`))
	a.Session = w.get(addressOf(a.Session))
	w.commit(w.answer(a, "reply"))
	w.repeated(a.Session, "c2", verdict(true))
}

func answersRepeated(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	w.await(a, w.clientCall("c1", `{}`), w.clientCall("c2", `{}`), w.approval("c3"))
	given := map[sessions.CallID]sessions.CallAnswer{"c1": output(`{"a":1,"b":[2]}`), "c2": refusal("gone"), "c3": verdict(true)}
	for id, answer := range given {
		w.answered(a.Session, id, answer)
	}
	again := func() {
		t.Helper()
		for id, answer := range given {
			require.Equal(t, a.Turn.TurnID, w.repeated(a.Session, id, answer).TurnID)
		}
		w.repeated(a.Session, "c1", output(`{"b":[2],"a":1}`))
		w.refusedAnswer(sessions.CodeConflict, a.Session, "c1", output(`{"a":1,"b":[3]}`))
		w.refusedAnswer(sessions.CodeConflict, a.Session, "c1", refusal("gone"))
		w.refusedAnswer(sessions.CodeConflict, a.Session, "c2", refusal("other"))
		w.refusedAnswer(sessions.CodeConflict, a.Session, "c2", output(`"gone"`))
		w.refusedAnswer(sessions.CodeConflict, a.Session, "c3", verdict(false))
		w.refusedAnswer(sessions.CodeNotFound, a.Session, "c4", verdict(true))
	}
	again()
	w.goOn(a, "c1", "c2", "c3")
	again()
	a.Session = w.get(addressOf(a.Session))
	w.commit(w.answer(a, "reply"))
	again()
	w.accept(w.prompt(addressOf(a.Session), "next"))
	again()
}

func answersRefused(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	w.await(a, w.approval("c1"), w.approval("c2"))
	other := w.accept(w.prompt(byKey("other", "writer"), "question"))
	w.refusedAnswer(sessions.CodeNotFound, other.Session, "c1", verdict(true))
	w.await(other, w.approval("c1"))
	w.answered(other.Session, "c1", verdict(false))
	w.answered(a.Session, "c1", verdict(true)) // the same id in another session is another call

	give := sessions.AnswerCalls{Owner: "stranger", At: addressOf(a.Session), Answers: []sessions.GivenAnswer{{CallID: "c2", Answer: verdict(true)}}, Now: w.now}
	_, err := w.store.AnswerCalls(t.Context(), give)
	requireCode(t, sessions.CodeSessionNotFound, err)
	_, err = w.give(sessions.Session{ID: "nobody"}, "c2", verdict(true))
	requireCode(t, sessions.CodeSessionNotFound, err)
	give.Owner, give.At = owner, byKey("doc", "writer")
	_, err = w.store.AnswerCalls(t.Context(), give)
	require.NoError(t, err, "a key is an address as well")

	w.end(a, sessions.TurnIsCancelled, nil)
	_, err = w.close(addressOf(a.Session), "done")
	require.NoError(t, err)
	w.refusedAnswer(sessions.CodeSessionClosed, a.Session, "c1", verdict(true))
	w.refusedAnswer(sessions.CodeSessionClosed, a.Session, "unknown", verdict(true))
	w.remove(addressOf(a.Session))
	_, err = w.give(a.Session, "c1", verdict(true))
	requireCode(t, sessions.CodeSessionNotFound, err)
	_, err = w.store.WaitedCalls(t.Context(), a.Session.Fence.Incarnation, a.Turn.TurnID)
	requireCode(t, sessions.CodeSessionNotFound, err)
}
