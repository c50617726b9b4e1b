package storetest

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// set stores a value under a name, nil to remove it.
func (w *world) set(at sessions.Address, name, value string, ifVersion *int64) (int64, error) {
	c := sessions.SetState{Owner: owner, At: at, Name: name, IfVersion: ifVersion, Now: w.now}
	if value != "" {
		c.Value = json.RawMessage(value)
	}
	return w.store.SetState(w.t.Context(), c)
}

func testSetState(t *testing.T, f Factory) {
	f.run(t, "versions rise from 1, over a removal too", func(t *testing.T) {
		w := newWorld(t, f)
		s := w.session()
		for i, value := range []string{`1`, `{"a": 2}`, "", "3"} {
			version, err := w.set(addressOf(s), "x", value, nil)
			require.NoError(t, err)
			require.EqualValues(t, i+1, version)
			stored, err := w.store.State(t.Context(), s.Fence.Incarnation, "x")
			require.NoError(t, err)
			if value == "" {
				require.Empty(t, stored)
				continue
			}
			require.Equal(t, map[string]sessions.StateValue{"x": {Value: json.RawMessage(value), Version: version, UpdatedAt: w.now}}, stored)
		}
	})
	f.run(t, "a version that is not the stored one conflicts", func(t *testing.T) {
		w := newWorld(t, f)
		s := w.session()
		none, one, two := int64(0), int64(1), int64(2)
		_, err := w.set(addressOf(s), "x", `1`, &one)
		requireCode(t, sessions.CodeConflict, err)
		_, err = w.set(addressOf(s), "x", `1`, &none)
		require.NoError(t, err)
		_, err = w.set(addressOf(s), "x", `2`, &none)
		requireCode(t, sessions.CodeConflict, err)
		require.EqualValues(t, 1, sessions.AsError(err).Details["version"])
		_, err = w.set(addressOf(s), "x", "", &one)
		require.NoError(t, err)
		_, err = w.set(addressOf(s), "x", `3`, &two)
		requireCode(t, sessions.CodeConflict, err)
		version, err := w.set(addressOf(s), "x", `3`, &none)
		require.NoError(t, err)
		require.EqualValues(t, 3, version)
	})
	f.run(t, "case-20: many at once", func(t *testing.T) {
		w := newWorld(t, f)
		s := w.session()
		none := int64(0)
		var group sync.WaitGroup
		names, wins := make([]error, 100), make([]error, 100)
		for i := range names {
			group.Go(func() { _, names[i] = w.set(addressOf(s), fmt.Sprint("name-", i), `1`, nil) })
			group.Go(func() { _, wins[i] = w.set(addressOf(s), "one", fmt.Sprint(i), &none) })
		}
		group.Wait()
		var winners int
		for i := range names {
			require.NoError(t, names[i])
			if wins[i] == nil {
				winners++
			} else {
				requireCode(t, sessions.CodeConflict, wins[i])
			}
		}
		require.Equal(t, 1, winners)
		state, err := w.store.State(t.Context(), s.Fence.Incarnation, "")
		require.NoError(t, err)
		require.Len(t, state, 101)
	})
	f.run(t, "in mid turn it is kept beside the turn's own", func(t *testing.T) {
		w := newWorld(t, f)
		a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		_, err := w.set(byKey("doc", "writer"), "mine", `1`, nil)
		require.NoError(t, err)
		c := w.answer(a, "reply")
		c.State = map[string]json.RawMessage{"snapshot": json.RawMessage(`2`)}
		w.commit(c)
		state, err := w.store.State(t.Context(), a.Session.Fence.Incarnation, "")
		require.NoError(t, err)
		require.Len(t, state, 2)
	})
	f.run(t, "an unknown session is not found", func(t *testing.T) {
		w := newWorld(t, f)
		_, err := w.set(byID("nobody"), "x", `1`, nil)
		requireCode(t, sessions.CodeSessionNotFound, err)
	})
}
