package storetest

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// RunVolume tries the factory's stores with large numbers. It measures memory,
// and so is for a build without the race detector.
func (f Factory) RunVolume(t *testing.T) {
	t.Helper()
	t.Run("case-48: pages of 100,000 frames", func(t *testing.T) { pagesOfMany(t, f) })
	t.Run("case-46: a walk over 100,000 sessions", func(t *testing.T) { walkOfMany(t, f) })
}

// pagesOfMany reads the last page and one in the middle: of one turn with all
// the frames, and of a session with as many in turns of five.
func pagesOfMany(t *testing.T, f Factory) {
	const all, page = 100_000, 20
	w := &world{t: t, f: f, store: f.Keeping(t, -1), now: noon}
	one := w.accept(w.prompt(byKey("one", "writer"), "question"))
	text := strings.Repeat("word ", 40)
	for stored := len(one.Frames); stored < all; {
		c := w.step(one)
		for ; len(c.Frames) < 500 && stored < all; stored++ {
			c.Frames = append(c.Frames, sessions.TextPart{Step: 1, Attempt: 1, Text: text})
		}
		w.commit(c)
	}
	var many sessions.AcceptedTurn
	for range all / 50 {
		many, _ = w.turn(byKey("many", "writer"), text, text)
	}
	for name, c := range map[string]struct {
		life sessions.Incarnation
		last int64
	}{
		"in one turn":   {one.Session.Fence.Incarnation, all},
		"in many turns": {many.Session.Fence.Incarnation, all / 10},
	} {
		for _, q := range []sessions.FrameQuery{
			{Descending: true, Limit: page},
			{AfterSeq: c.last - page, Limit: page},
			{AfterSeq: c.last / 2, Limit: page},
			{BeforeSeq: c.last / 2, Descending: true, Limit: page},
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := w.store.Frames(t.Context(), c.life, q)
			runtime.ReadMemStats(&after)
			require.NoError(t, err)
			require.Len(t, got.Frames, page)
			require.Empty(t, got.Missing)
			for i, frame := range got.Frames {
				from, step := q.AfterSeq+1, int64(1)
				if q.Descending {
					from, step = c.last, -1
					if q.BeforeSeq > 0 {
						from = q.BeforeSeq - 1
					}
				}
				require.Equal(t, from+step*int64(i), frame.Seq, name)
			}
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2<<20), "%s: a page costs what is in it, not the 20 MiB of all", name)
		}
	}
}
