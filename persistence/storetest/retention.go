package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// testRetention looks at stores that keep ten frames of a session.
func testRetention(t *testing.T, f Factory) {
	if f.Keeping == nil {
		t.Skip("this store cannot be told what to keep")
	}
	const keep = 10
	key := byKey("doc", "writer")
	ask := func(w *world, life sessions.Incarnation, q sessions.FrameQuery) sessions.FramePage {
		t.Helper()
		page, err := w.store.Frames(t.Context(), life, q)
		require.NoError(t, err)
		return page
	}
	f.run(t, "the oldest frames go, and reads tell which", func(t *testing.T) {
		w := &world{t: t, f: f, store: f.Keeping(t, keep), now: noon}
		var turns []sessions.TurnID
		var life sessions.Incarnation
		for range 4 { // five frames each
			a, _ := w.turn(key, "question", "reply")
			turns, life = append(turns, a.Turn.TurnID), a.Session.Fence.Incarnation
		}
		for name, c := range map[string]struct {
			q       sessions.FrameQuery
			seqs    []int64
			missing []sessions.Gap
			more    bool
		}{
			"from the start":   {sessions.FrameQuery{Limit: 3}, seqs(11, 13), []sessions.Gap{{From: 1, To: 10}}, true},
			"from within":      {sessions.FrameQuery{AfterSeq: 4}, seqs(11, 20), []sessions.Gap{{From: 5, To: 10}}, false},
			"of what is kept":  {sessions.FrameQuery{AfterSeq: 10}, seqs(11, 20), nil, false},
			"of what is cut":   {sessions.FrameQuery{AfterSeq: 2, BeforeSeq: 6}, nil, []sessions.Gap{{From: 3, To: 5}}, false},
			"a newest page":    {sessions.FrameQuery{Descending: true, Limit: 3}, seqs(20, 18), nil, true},
			"back to the cut":  {sessions.FrameQuery{Descending: true, BeforeSeq: 13}, seqs(12, 11), []sessions.Gap{{From: 1, To: 10}}, false},
			"of a cut turn":    {sessions.FrameQuery{TurnID: turns[1]}, nil, []sessions.Gap{{From: 6, To: 10}}, false},
			"of a kept turn":   {sessions.FrameQuery{TurnID: turns[2]}, seqs(11, 15), nil, false},
			"ahead of the end": {sessions.FrameQuery{AfterSeq: 20}, nil, nil, false},
		} {
			page := ask(w, life, c.q)
			var got []int64
			for _, frame := range page.Frames {
				got = append(got, frame.Seq)
			}
			require.Equal(t, c.seqs, got, name)
			require.Equal(t, c.missing, page.Missing, name)
			require.Equal(t, c.more, page.HasMore, name)
			require.EqualValues(t, 20, page.Last, name)
		}
		require.EqualValues(t, 8, w.get(key).MessageCount, "messages are another matter")
		require.Len(t, w.history(life), 8)
		if f.Reopen != nil {
			before := ask(w, life, sessions.FrameQuery{})
			w.reopen()
			require.Equal(t, before, ask(w, life, sessions.FrameQuery{}))
		}
		w.requireFrameless(w.remove(key), 2, keep)
	})
	f.run(t, "a turn that goes on keeps all of its frames", func(t *testing.T) {
		w := &world{t: t, f: f, store: f.Keeping(t, keep), now: noon}
		before, _ := w.turn(key, "question", "reply")
		a := w.accept(w.prompt(key, "question"))
		life := a.Session.Fence.Incarnation
		for range 30 {
			c := w.step(a)
			c.Frames = []sessions.FrameBody{sessions.TextPart{Step: 1, Attempt: 1, Text: "word "}}
			w.commit(c)
		}
		page := ask(w, life, sessions.FrameQuery{})
		require.Equal(t, []sessions.Gap{{From: 1, To: 5}}, page.Missing)
		require.Equal(t, a.Turn.FirstFrame, page.Frames[0].Seq)
		require.Len(t, page.Frames, 33)
		done := w.commit(w.answer(a, "reply"))
		page = ask(w, life, sessions.FrameQuery{})
		require.Len(t, page.Frames, keep, "once it has ended they go too")
		require.Equal(t, done.Frames[1], page.Frames[keep-1])
		page = ask(w, life, sessions.FrameQuery{TurnID: before.Turn.TurnID})
		require.Equal(t, []sessions.Gap{{From: 1, To: 5}}, page.Missing)
	})
	f.run(t, "without a bound all are kept", func(t *testing.T) {
		w := &world{t: t, f: f, store: f.Keeping(t, -1), now: noon}
		a, _ := w.turn(key, "question", "reply")
		w.turn(key, "question", "reply")
		page := ask(w, a.Session.Fence.Incarnation, sessions.FrameQuery{})
		require.Empty(t, page.Missing)
		require.Len(t, page.Frames, 10)
	})
}
