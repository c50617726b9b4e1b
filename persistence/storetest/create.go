package storetest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testCreate(t *testing.T, f Factory) {
	f.run(t, "a session may begin with state", func(t *testing.T) {
		w := newWorld(t, f)
		c := sessions.CreateSession{Owner: owner, At: byID("a"), Profile: "p", Now: w.now, State: map[string]json.RawMessage{"x": json.RawMessage(`{"y":1}`)}}
		for range 2 { // the second finds what the first has made
			made, err := w.store.CreateSession(t.Context(), c)
			require.NoError(t, err)
			state, err := w.store.State(t.Context(), made.Session.Fence.Incarnation, "")
			require.NoError(t, err)
			require.Equal(t, map[string]sessions.StateValue{"x": {Value: json.RawMessage(`{"y":1}`), Version: 1, UpdatedAt: w.now}}, state)
			c.State = map[string]json.RawMessage{"x": json.RawMessage(`2`)}
		}
	})
	f.run(t, "a new session is empty and can be found", func(t *testing.T) {
		w := newWorld(t, f)
		s := w.create(sessions.CreateSession{At: sessions.Address{ID: "a", Key: sessions.Key{Target: "doc", Profile: "writer"}},
			AgentID: "gone", Title: "A title", Labels: map[string]string{"team": "blue"}})
		require.Positive(t, s.Fence.Incarnation)
		want := sessions.Session{ID: "a", Owner: owner, TargetKey: "doc", ProfileKey: "writer", AgentID: "gone", Status: sessions.StatusCreated,
			Title: "A title", Labels: map[string]string{"team": "blue"}, Pending: []sessions.Pending{},
			CreatedAt: noon, LastActiveAt: noon, Fence: s.Fence}
		require.Equal(t, want, s)
		require.Equal(t, want, w.get(byID("a")))
		require.Equal(t, want, w.get(byKey("doc", "writer")))
	})
	f.run(t, "lists that are empty are not nil", func(t *testing.T) {
		s := newWorld(t, f).session()
		require.NotNil(t, s.Labels)
		require.NotNil(t, s.Pending)
	})
	f.run(t, "without id the new id is used", func(t *testing.T) {
		w := newWorld(t, f)
		s := w.create(sessions.CreateSession{At: byKey("doc", "writer")})
		require.NotEmpty(t, s.ID)
		require.Equal(t, s, w.get(byID(s.ID)))
	})
	f.run(t, "a stored one is returned unchanged", func(t *testing.T) {
		w := newWorld(t, f)
		s := w.create(sessions.CreateSession{At: sessions.Address{ID: "a", Key: sessions.Key{Target: "doc", Profile: "writer"}}, Title: "first"})
		w.now += minute
		for _, at := range []sessions.Address{byID("a"), byKey("doc", "writer"), {ID: "a", Key: sessions.Key{Target: "doc", Profile: "writer"}}} {
			got, err := w.store.CreateSession(t.Context(), sessions.CreateSession{Owner: owner, At: at, NewID: "other", AgentID: "other", Title: "second", Now: w.now})
			require.NoError(t, err)
			require.Equal(t, sessions.CreatedSession{Session: s}, got)
		}
	})
	f.run(t, "another profile is another session", func(t *testing.T) {
		w := newWorld(t, f)
		a := w.create(sessions.CreateSession{At: byKey("doc", "writer")})
		b := w.create(sessions.CreateSession{At: byKey("doc", "reader")})
		require.NotEqual(t, a.ID, b.ID)
	})
	f.run(t, "an id and a key of two sessions conflict", func(t *testing.T) {
		w := newWorld(t, f)
		w.create(sessions.CreateSession{At: byID("a"), Profile: "p"})
		w.create(sessions.CreateSession{At: byKey("doc", "writer")})
		_, err := w.store.CreateSession(t.Context(), sessions.CreateSession{Owner: owner, NewID: "n", Now: w.now,
			At: sessions.Address{ID: "a", Key: sessions.Key{Target: "doc", Profile: "writer"}}})
		requireCode(t, sessions.CodeConflict, err)
		page, err := w.store.Sessions(t.Context(), sessions.SessionQuery{Owner: owner})
		require.NoError(t, err)
		require.Len(t, page.Sessions, 2)
	})
	f.run(t, "owners do not see each other", func(t *testing.T) {
		w := newWorld(t, f)
		a := w.create(sessions.CreateSession{At: byID("same")})
		b := w.create(sessions.CreateSession{Owner: "other", At: byID("same")})
		require.NotEqual(t, a.Fence.Incarnation, b.Fence.Incarnation)
		require.Equal(t, a, w.get(byID("same")))
		_, err := w.store.Session(t.Context(), "third", byID("same"))
		requireCode(t, sessions.CodeSessionNotFound, err)
	})
	f.run(t, "a parent must exist", func(t *testing.T) {
		w := newWorld(t, f)
		c := sessions.CreateSession{Owner: owner, NewID: "n", ParentID: "nobody", ParentLocation: sessions.Local, Now: w.now}
		_, err := w.store.CreateSession(t.Context(), c)
		requireCode(t, sessions.CodeSessionNotFound, err)
		parent := w.session()
		child := w.create(sessions.CreateSession{ParentID: parent.ID, ParentLocation: sessions.Remote})
		require.Equal(t, parent.ID, child.ParentID)
		require.Equal(t, sessions.Remote, child.ParentLocation)
	})
	f.run(t, "a request id names one create", func(t *testing.T) { createByRequest(t, f) })
}

func createByRequest(t *testing.T, f Factory) {
	w := newWorld(t, f)
	c := sessions.CreateSession{Owner: owner, NewID: "n1", Now: w.now,
		Request: &sessions.Request{ID: "r", Fingerprint: fingerprint("create"), TTLMs: ttl}}
	first, err := w.store.CreateSession(t.Context(), c)
	require.NoError(t, err)
	require.True(t, first.Created)

	c.NewID = "n2"
	again, err := w.store.CreateSession(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, sessions.CreatedSession{Session: first.Session}, again)

	other := c
	other.Request = &sessions.Request{ID: "r", Fingerprint: fingerprint("another create"), TTLMs: ttl}
	_, err = w.store.CreateSession(t.Context(), other)
	requireCode(t, sessions.CodeRequestConflict, err)

	other.Now = w.now + ttl
	fresh, err := w.store.CreateSession(t.Context(), other)
	require.NoError(t, err)
	require.True(t, fresh.Created, "the claim has expired")
}
