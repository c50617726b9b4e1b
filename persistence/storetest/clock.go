package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// testClock sets the clock back between turns: order is by sequence.
func testClock(t *testing.T, f Factory) {
	w := newWorld(t, f)
	w.turn(byKey("a", "p"), "first", "1")
	w.now -= 10 * day
	b, _ := w.turn(byKey("b", "p"), "second", "2")
	w.now -= 10 * day
	w.turn(byKey("a", "p"), "third", "3")
	require.Equal(t, noon, b.Session.LastActiveAt, "activity never goes back")

	life := w.get(byKey("a", "p")).Fence.Incarnation
	var texts []string
	for i, m := range w.history(life) {
		require.EqualValues(t, i+1, m.Seq)
		texts = append(texts, sessions.TextOf(m.Content))
	}
	require.Equal(t, []string{"first", "1", "third", "3"}, texts)
	turns, err := w.store.Turns(t.Context(), life, sessions.TurnQuery{})
	require.NoError(t, err)
	require.Greater(t, turns.Turns[0].FirstFrame, turns.Turns[1].FirstFrame, "the newest turn is the last begun")

	if f.Reopen == nil {
		return
	}
	w.reopen()
	c, _ := w.turn(byKey("c", "p"), "after", "4")
	require.Equal(t, noon, c.Session.LastActiveAt, "nor over a restart")
	w.now = noon + 1
	d, _ := w.turn(byKey("d", "p"), "ahead", "5")
	require.Equal(t, w.now, d.Session.LastActiveAt)
}
