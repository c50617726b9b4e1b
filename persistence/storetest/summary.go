package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testSummary(t *testing.T, f Factory) {
	f.run(t, "the newest one counts", func(t *testing.T) { summaryNewest(t, f) })
	f.run(t, "it comes back to the byte", func(t *testing.T) { summaryBytes(t, f) })
	f.run(t, "one that stands for no more is refused, and its step", func(t *testing.T) { summaryRefused(t, f) })
	f.run(t, "a fork gets what stands for its messages alone", func(t *testing.T) { summaryForked(t, f) })
	f.run(t, "another life has none", func(t *testing.T) {
		w := newWorld(t, f)
		s := w.session()
		w.summarised(w.accept(w.prompt(addressOf(s), "question")), 1)
		w.remove(addressOf(s))
		_, err := w.store.Summary(t.Context(), s.Fence.Incarnation)
		require.ErrorIs(t, err, sessions.ErrLifeOver)
		again := w.create(sessions.CreateSession{At: addressOf(s), Profile: sessions.DefaultProfile})
		require.Zero(t, w.summary(again))
	})
}

// summary returns the newest summary of a session.
func (w *world) summary(of sessions.Session) sessions.Summary {
	w.t.Helper()
	s, err := w.store.Summary(w.t.Context(), of.Fence.Incarnation)
	require.NoError(w.t, err)
	return s
}

// summarised commits a step that has nothing but a summary.
func (w *world) summarised(a sessions.AcceptedTurn, through int64) sessions.Summary {
	w.t.Helper()
	c := w.step(a)
	c.Summary = sessions.Summary{ThroughSeq: through, Text: w.name("summary")}
	w.commit(c)
	return c.Summary
}

func summaryNewest(t *testing.T, f Factory) {
	w := newWorld(t, f)
	key := byKey("doc", "writer")
	a := w.accept(w.prompt(key, "question"))
	require.Zero(t, w.summary(a.Session))
	before := w.history(a.Session.Fence.Incarnation)

	c := w.step(a)
	c.Summary = sessions.Summary{ThroughSeq: 1, KeptSeq: 1, Text: "first"}
	c.Frames = []sessions.FrameBody{sessions.Summarised{ThroughSeq: 1, Attempt: 1, Text: "first"}}
	c.Usage, c.Model = ofAnswer, "model-a"
	done := w.commit(c)
	require.Equal(t, c.Frames[0], done.Frames[0].Body)
	require.Equal(t, ofAnswer, done.Turn.Usage)
	require.Equal(t, c.Summary, w.summary(a.Session))
	require.Equal(t, before, w.history(a.Session.Fence.Incarnation), "the messages stay")

	answer := w.answer(a, "reply")
	answer.Summary = sessions.Summary{ThroughSeq: 2, Text: "second"} // the message of the same step too
	w.commit(answer)
	require.Equal(t, answer.Summary, w.summary(a.Session))
	w.turn(key, "next", "reply")
	require.Equal(t, answer.Summary, w.summary(a.Session), "what comes after it changes nothing")
	if f.Reopen != nil {
		w.reopen()
		require.Equal(t, answer.Summary, w.summary(a.Session))
	}
}

func summaryBytes(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	for i, text := range []string{"a\x00b <&> \u2028 \"'\r\n", "", "👩‍👩‍👧‍👦\ufeff", " spaces around "} {
		answer := w.step(a)
		answer.Messages = []sessions.Message{{Seq: int64(i + 2), Role: sessions.RoleUser, Content: sessions.Text("more")}}
		answer.Summary = sessions.Summary{ThroughSeq: int64(i + 1), Text: text}
		w.commit(answer)
		require.Equal(t, answer.Summary, w.summary(a.Session))
	}
}

func summaryRefused(t *testing.T, f Factory) {
	w := newWorld(t, f)
	key := byKey("doc", "writer")
	w.turn(key, "question", "reply")
	a := w.accept(w.prompt(key, "next"))
	kept := w.summarised(a, 2)
	before := w.picture(key)
	for _, s := range []sessions.Summary{{Text: "for nothing"}, {ThroughSeq: 1}, {ThroughSeq: 2}, {ThroughSeq: 4}, {ThroughSeq: 3, KeptSeq: 4}} {
		c := w.step(a)
		c.Frames, c.Usage, c.Summary = []sessions.FrameBody{sessions.Summarised{}}, ofAnswer, s
		_, err := w.store.CommitTurn(t.Context(), c)
		requireCode(t, sessions.CodeInternal, err)
	}
	stale := w.step(a)
	stale.Fence.Epoch--
	stale.Summary = sessions.Summary{ThroughSeq: 3}
	_, err := w.store.CommitTurn(t.Context(), stale)
	require.ErrorIs(t, err, sessions.ErrFenced)
	require.Equal(t, before, w.picture(key))
	require.Equal(t, kept, w.summary(a.Session))

	w.end(a, sessions.TurnIsCancelled, nil)
	late := w.step(a)
	late.Summary = sessions.Summary{ThroughSeq: 3}
	_, err = w.store.CommitTurn(t.Context(), late)
	require.ErrorIs(t, err, sessions.ErrTurnEnded)
	require.Equal(t, kept, w.summary(a.Session))
}

func summaryForked(t *testing.T, f Factory) {
	w := newWorld(t, f)
	origin := byKey("doc", "writer")
	_, err := w.store.ForkSession(t.Context(), w.fork(addressOf(w.session()), 0))
	optional(t, err)
	_, err = w.store.SeedSession(t.Context(), w.seed(origin)) // system, user, a call, its result
	require.NoError(t, err)
	a := w.accept(w.prompt(origin, "question"))
	early, late := w.summarised(a, 2), w.summarised(a, 4)
	for through, want := range map[int64]sessions.Summary{
		1: {}, 2: early,
		3: early, // the fork has a result of its own as the fourth message
		4: late, 5: late, 0: late,
	} {
		s := w.forked(w.fork(origin, through))
		require.Equal(t, want, w.summary(s), "through %d", through)
		if through == 4 {
			w.remove(addressOf(s))
			require.Equal(t, late, w.summary(a.Session))
			continue
		}
		next := w.accept(w.prompt(addressOf(s), "question"))
		require.Equal(t, w.summarised(next, next.User.Seq), w.summary(s), "it may be followed")
	}
}
