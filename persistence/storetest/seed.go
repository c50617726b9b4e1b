package storetest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// transcript is a seed with a call and its result.
func transcript() []sessions.Message {
	return []sessions.Message{
		{Role: sessions.RoleSystem, Content: sessions.Text("be brief")},
		{Role: sessions.RoleUser, Content: sessions.Text("add")},
		{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "c1", Path: "math/add", Args: json.RawMessage(`{}`)}}},
		{Role: sessions.RoleTool, ToolCallID: "c1", Content: sessions.Text("3")},
	}
}

func (w *world) seed(at sessions.Address) sessions.SeedSession {
	return sessions.SeedSession{Owner: owner, At: at, NewID: sessions.SessionID(w.name("new")), Profile: "seeded",
		Messages: transcript(), State: map[string]json.RawMessage{"snapshot": json.RawMessage(`1`)}, Now: w.now}
}

func testSeed(t *testing.T, f Factory) {
	f.run(t, "it creates the session of a key or an id", func(t *testing.T) {
		w := newWorld(t, f)
		for _, at := range []sessions.Address{byKey("doc", "writer"), byID("a")} {
			got, err := w.store.SeedSession(t.Context(), w.seed(at))
			require.NoError(t, err)
			require.Equal(t, 4, got.Appended)
			require.False(t, got.Duplicate)
			require.Equal(t, w.get(at), got.Session)
			require.Equal(t, sessions.StatusCreated, got.Session.Status)
			require.Equal(t, "add", got.Session.Preview)
			require.EqualValues(t, 0, got.Session.TurnCount)
			require.EqualValues(t, 4, got.Session.MessageCount)
			want := transcript()
			for i := range want {
				want[i].Seq, want[i].CreatedAt = int64(i+1), w.now
			}
			require.Equal(t, want, w.history(got.Session.Fence.Incarnation))
			state, err := w.store.State(t.Context(), got.Session.Fence.Incarnation, "")
			require.NoError(t, err)
			require.Equal(t, map[string]sessions.StateValue{"snapshot": {Value: json.RawMessage(`1`), Version: 1, UpdatedAt: w.now}}, state)
		}
		require.Equal(t, "writer", w.get(byKey("doc", "writer")).ProfileKey)
		require.Equal(t, "seeded", w.get(byID("a")).ProfileKey)
	})
	f.run(t, "it appends to an idle session and the next turn goes on from it", func(t *testing.T) {
		w := newWorld(t, f)
		key := byKey("doc", "writer")
		_, done := w.turn(key, "question", "reply")
		w.now += minute
		got, err := w.store.SeedSession(t.Context(), w.seed(key))
		require.NoError(t, err)
		require.Equal(t, sessions.StatusIdle, got.Session.Status)
		require.EqualValues(t, 1, got.Session.TurnCount)
		require.EqualValues(t, 6, got.Session.MessageCount)
		require.Equal(t, "question", got.Session.Preview)
		require.Equal(t, w.now, got.Session.LastActiveAt)
		require.Equal(t, done.Session.LastFrame, got.Session.LastFrame)
		a := w.accept(w.prompt(key, "next"))
		require.EqualValues(t, 7, a.User.Seq)
	})
	f.run(t, "a busy session takes none", func(t *testing.T) {
		w := newWorld(t, f)
		key := byKey("doc", "writer")
		a := w.accept(w.prompt(key, "question"))
		_, err := w.store.SeedSession(t.Context(), w.seed(key))
		requireCode(t, sessions.CodeAgentBusy, err)
		require.Len(t, w.history(a.Session.Fence.Incarnation), 1)
	})
	f.run(t, "a request id names one seed", func(t *testing.T) { seedByRequest(t, f) })
}

func seedByRequest(t *testing.T, f Factory) {
	w := newWorld(t, f)
	c := w.seed(byKey("doc", "writer"))
	c.Request = &sessions.Request{ID: "r", Fingerprint: fingerprint("seed"), TTLMs: ttl}
	first, err := w.store.SeedSession(t.Context(), c)
	require.NoError(t, err)

	again, err := w.store.SeedSession(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, sessions.SeededSession{Session: first.Session, Appended: 4, Duplicate: true}, again)
	require.Len(t, w.history(first.Session.Fence.Incarnation), 4)

	other := c
	other.Request = &sessions.Request{ID: "r", Fingerprint: fingerprint("another"), TTLMs: ttl}
	_, err = w.store.SeedSession(t.Context(), other)
	requireCode(t, sessions.CodeRequestConflict, err)

	w.remove(byKey("doc", "writer"))
	_, err = w.store.SeedSession(t.Context(), c)
	requireCode(t, sessions.CodeSessionDeleted, err)

	c.Now += 31 * day
	late, err := w.store.SeedSession(t.Context(), c)
	require.NoError(t, err)
	require.False(t, late.Duplicate)
}
