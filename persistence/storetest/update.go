package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testUpdate(t *testing.T, f Factory) {
	w := newWorld(t, f)
	s := w.create(sessions.CreateSession{At: byKey("doc", "writer"), Title: "old", Labels: map[string]string{"a": "1"}})
	title := "new \"title\" ☂"

	got, err := w.store.UpdateSession(t.Context(), sessions.UpdateSession{Owner: owner, At: addressOf(s), Title: &title, Now: w.now})
	require.NoError(t, err)
	s.Title = title
	require.Equal(t, s, got, "labels stay when none are given")

	got, err = w.store.UpdateSession(t.Context(), sessions.UpdateSession{Owner: owner, At: byKey("doc", "writer"),
		Labels: map[string]string{"b": "2"}, Now: w.now})
	require.NoError(t, err)
	s.Labels = map[string]string{"b": "2"}
	require.Equal(t, s, got)

	got, err = w.store.UpdateSession(t.Context(), sessions.UpdateSession{Owner: owner, At: addressOf(s), Labels: map[string]string{}, Now: w.now})
	require.NoError(t, err)
	require.Empty(t, got.Labels, "an empty map removes all labels")

	f.run(t, "in mid turn it neither ends the turn nor is lost", func(t *testing.T) {
		a := w.accept(w.prompt(addressOf(s), "question"))
		later := "later"
		_, err := w.store.UpdateSession(t.Context(), sessions.UpdateSession{Owner: owner, At: addressOf(s), Title: &later, Now: w.now})
		require.NoError(t, err)
		require.Equal(t, later, w.commit(w.answer(a, "reply")).Session.Title)
	})
	f.run(t, "an unknown session is not found", func(t *testing.T) {
		_, err := w.store.UpdateSession(t.Context(), sessions.UpdateSession{Owner: owner, At: byID("nobody"), Title: &title, Now: w.now})
		requireCode(t, sessions.CodeSessionNotFound, err)
	})
}
