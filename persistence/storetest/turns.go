package storetest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testTurns(t *testing.T, f Factory) {
	w := newWorld(t, f)
	var want []sessions.Turn
	var life sessions.Incarnation
	for range 7 {
		a, done := w.turn(byKey("doc", "writer"), w.name("question"), "reply")
		w.turn(byKey("other", "writer"), w.name("question"), "reply")
		want, life = append(want, done.Turn), a.Session.Fence.Incarnation
	}
	running := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	want = append(want, running.Turn)
	slices.Reverse(want)

	f.run(t, "newest first, page by page", func(t *testing.T) {
		var got []sessions.Turn
		q := sessions.TurnQuery{Limit: 3}
		for range 3 {
			page, err := w.store.Turns(t.Context(), life, q)
			require.NoError(t, err)
			got, q.Cursor = append(got, page.Turns...), page.NextCursor
		}
		require.Empty(t, q.Cursor)
		require.Equal(t, want, got)
	})
	f.run(t, "behind a turn, both ways", func(t *testing.T) {
		for _, ascending := range []bool{true, false} {
			want := slices.Clone(want)
			if ascending {
				slices.Reverse(want)
			}
			q := sessions.TurnQuery{Limit: 2, Ascending: ascending, After: want[2].TurnID}
			page, err := w.store.Turns(t.Context(), life, q)
			require.NoError(t, err)
			require.Equal(t, want[3:5], page.Turns)
			require.NotEmpty(t, page.NextCursor)
			page, err = w.store.Turns(t.Context(), life, sessions.TurnQuery{Ascending: ascending, After: want[5].TurnID})
			require.NoError(t, err)
			require.Equal(t, want[6:], page.Turns)
			require.Empty(t, page.NextCursor)
		}
		other := w.get(byKey("other", "writer"))
		_, err := w.store.Turns(t.Context(), other.Fence.Incarnation, sessions.TurnQuery{After: want[2].TurnID})
		require.ErrorIs(t, err, sessions.ErrNoTurn)
	})
	f.run(t, "a cursor of something else is invalid", func(t *testing.T) {
		other := w.get(byKey("other", "writer"))
		page, err := w.store.Turns(t.Context(), other.Fence.Incarnation, sessions.TurnQuery{Limit: 3})
		require.NoError(t, err)
		for _, cursor := range []string{"nonsense", "!", page.NextCursor} {
			_, err := w.store.Turns(t.Context(), life, sessions.TurnQuery{Cursor: cursor})
			requireCode(t, sessions.CodeInvalidRequest, err)
		}
	})
	f.run(t, "by request", func(t *testing.T) {
		got, err := w.store.TurnByRequest(t.Context(), life, want[3].RequestID)
		require.NoError(t, err)
		require.Equal(t, want[3], got)
		_, err = w.store.TurnByRequest(t.Context(), life, "nobody")
		requireCode(t, sessions.CodeNotFound, err)
		_, err = w.store.TurnByRequest(t.Context(), life+1000, want[3].RequestID)
		requireCode(t, sessions.CodeSessionNotFound, err)
	})
	f.run(t, "by id", func(t *testing.T) {
		got, err := w.store.Turn(t.Context(), life, want[3].TurnID)
		require.NoError(t, err)
		require.Equal(t, want[3], got)
		other := w.get(byKey("other", "writer"))
		for _, id := range []sessions.TurnID{"nobody", want[3].TurnID} {
			_, err = w.store.Turn(t.Context(), other.Fence.Incarnation, id)
			requireCode(t, sessions.CodeNotFound, err)
		}
	})
	f.run(t, "busy turns are those not terminal", func(t *testing.T) {
		second := w.accept(w.prompt(byKey("third", "writer"), "question"))
		busy, err := w.store.BusyTurns(t.Context())
		require.NoError(t, err)
		require.Equal(t, []sessions.BusyTurn{
			{Turn: running.Turn, Session: running.Session}, {Turn: second.Turn, Session: second.Session}}, busy)
	})
}
