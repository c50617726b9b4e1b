package storetest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testAccept(t *testing.T, f Factory) {
	f.run(t, "a prompt to a session starts its turn", func(t *testing.T) { acceptStarts(t, f) })
	f.run(t, "a key without a session creates it", func(t *testing.T) {
		w := newWorld(t, f)
		c := w.prompt(byKey("doc", "writer"), "question")
		a := w.accept(c)
		require.Equal(t, c.NewID, a.Session.ID)
		require.Equal(t, sessions.Key{Target: "doc", Profile: "writer"}, a.Session.Key())
		require.Equal(t, a.Session, w.get(byKey("doc", "writer")))
	})
	f.run(t, "an id without a session begins one when it is told how", func(t *testing.T) { acceptBegins(t, f) })
	f.run(t, "each activation raises the epoch and a named one keeps it", func(t *testing.T) {
		w := newWorld(t, f)
		s := w.session()
		a, _ := w.turn(addressOf(s), "one", "1")
		require.Greater(t, a.Session.Fence.Epoch, s.Fence.Epoch)
		c := w.prompt(addressOf(s), "two")
		c.Fence = a.Session.Fence
		b := w.accept(c)
		require.Equal(t, a.Session.Fence, b.Session.Fence)
	})
	f.run(t, "the first of several reasons is the answer", func(t *testing.T) { acceptOrder(t, f) })
	f.run(t, "a refusal stores nothing and leaves the request id free", func(t *testing.T) { acceptLeavesNothing(t, f) })
	f.run(t, "the preview is of the first user message", func(t *testing.T) {
		w := newWorld(t, f)
		s := w.session()
		long := strings.Repeat("é☂", 200)
		a, _ := w.turn(addressOf(s), long, "reply")
		require.Equal(t, sessions.Preview(sessions.Text(long)), a.Session.Preview)
		b, _ := w.turn(addressOf(s), "second", "reply")
		require.Equal(t, a.Session.Preview, b.Session.Preview)
	})
}

func acceptBegins(t *testing.T, f Factory) {
	w := newWorld(t, f)
	c := w.prompt(byID("fresh"), "question")
	c.Begin = &sessions.NewSession{Profile: "writer", AgentID: "gone", Labels: map[string]string{"a": "b"}, State: map[string]json.RawMessage{"n": json.RawMessage(`{"x":1}`)}}
	c.Admitted = false
	_, err := w.store.AcceptTurn(t.Context(), c)
	requireCode(t, sessions.CodeOverloaded, err)
	_, err = w.store.Session(t.Context(), owner, byID("fresh"))
	requireCode(t, sessions.CodeSessionNotFound, err)

	c.Admitted = true
	a := w.accept(c)
	require.True(t, a.Created)
	require.Equal(t, sessions.SessionID("fresh"), a.Session.ID)
	require.Equal(t, "writer", a.Session.ProfileKey)
	require.True(t, a.Session.Key().IsZero())
	require.EqualValues(t, "gone", a.Session.AgentID)
	require.Equal(t, c.Begin.Labels, a.Session.Labels)
	require.Equal(t, a.Session, w.get(byID("fresh")))
	state, err := w.store.State(t.Context(), a.Session.Fence.Incarnation, "")
	require.NoError(t, err)
	require.Equal(t, map[string]sessions.StateValue{"n": {Value: c.Begin.State["n"], Version: 1, UpdatedAt: w.now}}, state)

	again := c
	again.At, again.TurnID = byID("other"), "other"
	b, err := w.store.AcceptTurn(t.Context(), again)
	require.NoError(t, err)
	require.True(t, b.Duplicate)
	require.Equal(t, a.Session.ID, b.Session.ID, "a repeat begins no other")
	require.Equal(t, a.Turn.TurnID, b.Turn.TurnID)
	_, err = w.store.Session(t.Context(), owner, byID("other"))
	requireCode(t, sessions.CodeSessionNotFound, err)

	stale := w.prompt(byID("third"), "question")
	stale.Begin, stale.Generation = c.Begin, 7
	_, err = w.store.AcceptTurn(t.Context(), stale)
	require.ErrorIs(t, err, sessions.ErrFenced)
}

func acceptStarts(t *testing.T, f Factory) {
	w := newWorld(t, f)
	s := w.session()
	w.now += minute
	c := w.prompt(addressOf(s), "question")
	a := w.accept(c)
	life := s.Fence.Incarnation

	user := sessions.Message{Seq: 1, Role: sessions.RoleUser, Content: c.Content, TurnID: c.TurnID, CreatedAt: w.now}
	require.Equal(t, &user, a.User)
	require.Equal(t, []sessions.Message{user}, w.history(life))
	require.Equal(t, sessions.Turn{TurnID: c.TurnID, RequestID: c.Request.ID, Status: sessions.TurnIsRunning,
		CreatedAt: w.now, StartedAt: w.now, Limits: c.Limits, FirstFrame: 1, UserSeq: 1}, a.Turn)

	require.Equal(t, sessions.StatusRunning, a.Session.Status)
	require.Equal(t, &sessions.ActiveTurn{TurnID: c.TurnID, RequestID: c.Request.ID, Status: sessions.TurnIsRunning, StartedAt: w.now},
		a.Session.ActiveTurn)
	require.EqualValues(t, 1, a.Session.MessageCount)
	require.EqualValues(t, 3, a.Session.LastFrame)
	require.EqualValues(t, 0, a.Session.TurnCount, "a turn counts when it has ended")
	require.Equal(t, "question", a.Session.Preview)
	require.Equal(t, w.now, a.Session.LastActiveAt)
	require.Equal(t, a.Session, w.get(addressOf(s)))

	bodies := []sessions.FrameBody{sessions.Accepted{}, sessions.Started{}, sessions.MessageAppended{Message: user}}
	require.Len(t, a.Frames, len(bodies))
	for i, frame := range a.Frames {
		seq := int64(i + 1)
		require.Equal(t, sessions.Frame{Seq: seq, Cursor: sessions.CursorAt(life, seq), TurnID: c.TurnID,
			RequestID: c.Request.ID, At: w.now, Body: bodies[i]}, frame)
	}
	require.Equal(t, a.Frames, w.frames(life))
}

// acceptOrder gives a prompt ever fewer reasons to be refused, from the last
// check to none, and expects the earliest reason that is left.
func acceptOrder(t *testing.T, f Factory) {
	w := newWorld(t, f)
	s := w.session()
	known, _ := w.turn(addressOf(s), "known", "reply")
	busy := w.accept(w.prompt(addressOf(s), "busy"))

	c := w.prompt(byID("nobody"), "question")
	c.Request.ID = known.Turn.RequestID
	c.Refusal = sessions.Errorf(sessions.CodeUnknownProfile, "No such profile.")
	c.Fence = sessions.Fence{Incarnation: s.Fence.Incarnation, Epoch: busy.Session.Fence.Epoch + 1}
	c.Admitted = false
	reasons := []struct {
		code   sessions.Code
		remove func()
	}{
		{sessions.CodeRequestConflict, func() { c.Request.ID = "fresh" }},
		{sessions.CodeSessionNotFound, func() { c.At = addressOf(s) }},
		{sessions.CodeUnknownProfile, func() { c.Refusal = nil }},
		{sessions.CodeAgentBusy, func() { w.end(busy, sessions.TurnIsCancelled, nil) }},
		{sessions.CodeConflict, func() { c.Fence = busy.Session.Fence }},
		{sessions.CodeOverloaded, func() { c.Admitted = true }},
	}
	for _, reason := range reasons {
		_, err := w.store.AcceptTurn(t.Context(), c)
		requireCode(t, reason.code, err)
		if reason.code == sessions.CodeConflict {
			require.ErrorIs(t, err, sessions.ErrFenced)
		}
		reason.remove()
	}
	w.accept(c)
}

func acceptLeavesNothing(t *testing.T, f Factory) {
	w := newWorld(t, f)
	key := byKey("doc", "writer")
	c := w.prompt(key, "question")
	c.Admitted = false
	_, err := w.store.AcceptTurn(t.Context(), c)
	requireCode(t, sessions.CodeOverloaded, err)
	_, err = w.store.Session(t.Context(), owner, key)
	requireCode(t, sessions.CodeSessionNotFound, err)
	_, found, err := w.store.Claim(t.Context(), owner, c.Request.ID, w.now)
	require.NoError(t, err)
	require.False(t, found)

	c.Admitted = true
	a := w.accept(c)
	refused := w.prompt(key, "meanwhile")
	_, err = w.store.AcceptTurn(t.Context(), refused)
	requireCode(t, sessions.CodeAgentBusy, err)
	require.Equal(t, a.Session, w.get(key))
	w.commit(w.answer(a, "reply"))
	w.accept(refused)
}
