package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testCompact(t *testing.T, f Factory) {
	w := newWorld(t, f)
	_, err := w.store.Compact(t.Context(), true)
	optional(t, err)
	f.run(t, "what was deleted is gone, what was not is as it was", func(t *testing.T) {
		w := newWorld(t, f)
		w.turn(byKey("first", "writer"), "question", "kept words")
		// A session in mid turn, whose writer goes on afterwards.
		running := w.accept(w.prompt(byKey("running", "writer"), "a running question"))
		s := w.busyLife("obliterate")
		w.requireBytes("obliterate", true)
		w.remove(addressOf(s))
		before := w.rows()

		done, err := w.store.Compact(t.Context(), false)
		require.NoError(t, err)
		require.NotEmpty(t, done.Files)
		require.Positive(t, done.BytesAfter)
		require.Equal(t, before, w.rows())
		w.requireBytes("obliterate", false)
		w.requireBytes("kept words", true)

		kept := w.get(byKey("first", "writer"))
		require.Len(t, w.history(kept.Fence.Incarnation), 2)
		w.commit(w.answer(running, "an answer after it"))
		again := w.create(sessions.CreateSession{At: addressOf(s), Profile: sessions.DefaultProfile})
		require.Greater(t, again.Fence.Incarnation, s.Fence.Incarnation, "no life's number is used again")
	})
	f.run(t, "a dry run changes nothing", func(t *testing.T) {
		w := newWorld(t, f)
		w.turn(byKey("first", "writer"), "question", "reply")
		w.remove(addressOf(w.busyLife("obliterate")))
		before := w.rows()
		done, err := w.store.Compact(t.Context(), true)
		require.NoError(t, err)
		require.NotEmpty(t, done.Files)
		require.Equal(t, done.BytesBefore, done.BytesAfter)
		require.Equal(t, before, w.rows())
	})
	f.run(t, "an empty store", func(t *testing.T) {
		w := newWorld(t, f)
		_, err := w.store.Compact(t.Context(), false)
		require.NoError(t, err)
		w.turn(byKey("doc", "writer"), "question", "reply")
	})
}

// requireBytes requires that a text is in the store's files, or is not.
func (w *world) requireBytes(text string, there bool) {
	w.t.Helper()
	if w.f.Holds != nil {
		require.Equal(w.t, there, w.f.Holds(w.t, w.store, text), "%q in the files", text)
	}
}

// rows returns the rows of every table, where they can be seen.
func (w *world) rows() map[string][]string {
	if w.f.Rows == nil {
		return nil
	}
	return w.f.Rows(w.t, w.store)
}
