package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// testFrames reads the frames of three turns, five frames each: accepted,
// started, the prompt, the answer, completed.
func testFrames(t *testing.T, f Factory) {
	w := newWorld(t, f)
	var turns []sessions.TurnID
	var life sessions.Incarnation
	for range 3 {
		a, _ := w.turn(byKey("doc", "writer"), w.name("question"), w.name("reply"))
		turns, life = append(turns, a.Turn.TurnID), a.Session.Fence.Incarnation
	}
	all := w.frames(life)
	require.Len(t, all, 15)
	for _, c := range []struct {
		name     string
		q        sessions.FrameQuery
		from, to int64
		more     bool
	}{
		{"all", sessions.FrameQuery{}, 1, 15, false},
		{"first page", sessions.FrameQuery{Limit: 6}, 1, 6, true},
		{"after", sessions.FrameQuery{AfterSeq: 6, Limit: 6}, 7, 12, true},
		{"last page", sessions.FrameQuery{AfterSeq: 12, Limit: 6}, 13, 15, false},
		{"between", sessions.FrameQuery{AfterSeq: 3, BeforeSeq: 7}, 4, 6, false},
		{"the newest", sessions.FrameQuery{Descending: true, Limit: 2}, 15, 14, true},
		{"of one turn", sessions.FrameQuery{TurnID: turns[1]}, 6, 10, false},
		{"of one turn, a page", sessions.FrameQuery{TurnID: turns[1], AfterSeq: 7, Limit: 2}, 8, 9, true},
		{"of one turn, from its end", sessions.FrameQuery{TurnID: turns[1], Descending: true, Limit: 2}, 10, 9, true},
		{"of one turn, before", sessions.FrameQuery{TurnID: turns[1], BeforeSeq: 8}, 6, 7, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			page, err := w.store.Frames(t.Context(), life, c.q)
			require.NoError(t, err)
			var got []int64
			for _, frame := range page.Frames {
				got = append(got, frame.Seq)
				require.Equal(t, all[frame.Seq-1], frame)
			}
			require.Equal(t, seqs(c.from, c.to), got)
			require.Equal(t, c.more, page.HasMore)
			require.EqualValues(t, 15, page.Last)
		})
	}
	f.run(t, "of a turn that runs", func(t *testing.T) {
		a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		page, err := w.store.Frames(t.Context(), life, sessions.FrameQuery{TurnID: a.Turn.TurnID})
		require.NoError(t, err)
		require.Equal(t, a.Frames, page.Frames)
	})
	f.run(t, "of an unknown turn there are none", func(t *testing.T) {
		other := w.accept(w.prompt(byKey("other", "writer"), "question"))
		for _, id := range []sessions.TurnID{"nobody", other.Turn.TurnID} {
			page, err := w.store.Frames(t.Context(), life, sessions.FrameQuery{TurnID: id})
			require.NoError(t, err)
			require.Empty(t, page.Frames)
		}
	})
	f.run(t, "an unknown life is not found", func(t *testing.T) {
		_, err := w.store.Frames(t.Context(), life+1000, sessions.FrameQuery{})
		requireCode(t, sessions.CodeSessionNotFound, err)
	})
}
