package storetest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// fork returns a request to copy a conversation, up to a message or all of it.
func (w *world) fork(at sessions.Address, through int64) sessions.ForkSession {
	return sessions.ForkSession{Owner: owner, At: at, ThroughSeq: through, NewID: sessions.SessionID(w.name("fork")), Now: w.now}
}

// forked requires that a fork is made.
func (w *world) forked(c sessions.ForkSession) sessions.Session {
	w.t.Helper()
	got, err := w.store.ForkSession(w.t.Context(), c)
	require.NoError(w.t, err)
	require.False(w.t, got.Duplicate)
	return got.Session
}

// asCopied returns messages as a fork has them.
func asCopied(messages []sessions.Message) []sessions.Message {
	copied := make([]sessions.Message, len(messages))
	for i, m := range messages {
		m.TurnID = ""
		copied[i] = m
	}
	return copied
}

func testFork(t *testing.T, f Factory) {
	w := newWorld(t, f)
	_, err := w.store.ForkSession(t.Context(), w.fork(addressOf(w.session()), 0))
	optional(t, err)
	f.run(t, "a whole conversation", func(t *testing.T) { forkWhole(t, f) })
	f.run(t, "up to a message", func(t *testing.T) { forkThrough(t, f) })
	f.run(t, "open calls at the cut get results", func(t *testing.T) { forkOpenCalls(t, f) })
	f.run(t, "a running session is cut at its last step", func(t *testing.T) { forkRunning(t, f) })
	f.run(t, "a long conversation", func(t *testing.T) { forkLong(t, f) })
	f.run(t, "where it cannot go", func(t *testing.T) { forkConflicts(t, f) })
	f.run(t, "what cannot be forked", func(t *testing.T) {
		w := newWorld(t, f)
		_, err := w.store.ForkSession(t.Context(), w.fork(byID("nobody"), 0))
		requireCode(t, sessions.CodeSessionNotFound, err)
		s := w.forked(w.fork(addressOf(w.session()), 0))
		require.EqualValues(t, 0, s.MessageCount, "an empty session has an empty fork")
		for _, through := range []int64{-1, 1} {
			_, err := w.store.ForkSession(t.Context(), w.fork(addressOf(s), through))
			requireCode(t, sessions.CodeInvalidRequest, err)
			require.Equal(t, "/args/throughSeq", sessions.AsError(err).Details["field"])
		}
	})
	f.run(t, "a closed session, and a fork", func(t *testing.T) {
		w := newWorld(t, f)
		key := byKey("doc", "writer")
		w.turn(key, "question", "reply")
		closed, err := w.close(key, "enough")
		require.NoError(t, err)
		first := w.forked(w.fork(key, 0))
		require.Equal(t, sessions.StatusCreated, first.Status)
		require.Zero(t, first.ClosedAt)
		second := w.forked(w.fork(addressOf(first), 1))
		require.Equal(t, first.ID, second.ForkedFrom)
		w.turn(addressOf(second), "next", "reply")
		require.Equal(t, closed.Session, w.get(key))
	})
	f.run(t, "it outlives its origin", func(t *testing.T) {
		w := newWorld(t, f)
		key := byKey("doc", "writer")
		w.turn(key, "question", "reply")
		s := w.forked(w.fork(key, 0))
		history := w.history(s.Fence.Incarnation)
		require.EqualValues(t, 1, w.remove(key).Sessions, "a fork is no child")
		require.Equal(t, history, w.history(s.Fence.Incarnation))
		a, _ := w.turn(addressOf(s), "next", "reply")
		require.EqualValues(t, 3, a.User.Seq)
	})
	f.run(t, "a damaged session", func(t *testing.T) { forkDamaged(t, f) })
	f.run(t, "a request id names one fork", func(t *testing.T) { forkByRequest(t, f) })
	f.run(t, "it is of what was stored before it", func(t *testing.T) { forkAfterStep(t, f) })
	f.run(t, "of a racing fork and delete each is whole", func(t *testing.T) { raceForkAndDelete(t, f) })
}

// picture is all that reads tell of a session.
type picture struct {
	session sessions.Session
	history []sessions.Message
	frames  []sessions.Frame
	state   map[string]sessions.StateValue
	turns   []sessions.Turn
}

func (w *world) picture(at sessions.Address) picture {
	w.t.Helper()
	s := w.get(at)
	life := s.Fence.Incarnation
	turns, err := w.store.Turns(w.t.Context(), life, sessions.TurnQuery{})
	require.NoError(w.t, err)
	return picture{s, w.history(life), w.frames(life), w.state(s), turns.Turns}
}

// state returns all named values of a session.
func (w *world) state(of sessions.Session) map[string]sessions.StateValue {
	w.t.Helper()
	state, err := w.store.State(w.t.Context(), of.Fence.Incarnation, "")
	require.NoError(w.t, err)
	return state
}

func forkWhole(t *testing.T, f Factory) {
	w := newWorld(t, f)
	origin := w.create(sessions.CreateSession{At: byKey("doc", "writer"), AgentID: "gone", Title: "a title", Labels: map[string]string{"team": "blue"},
		ParentID: w.session().ID, ParentLocation: sessions.Local})
	a := w.accept(w.prompt(addressOf(origin), "question"))
	c := w.answer(a, "reply")
	c.Messages[0].Content = append(c.Messages[0].Content, sessions.Content{Type: sessions.ContentJSON, Value: json.RawMessage(`{"a": 1, "b":"<&>"}`)})
	c.Messages[0].Interrupted = true
	c.State = map[string]json.RawMessage{"snapshot": json.RawMessage(`1`), "gone": json.RawMessage(`1`)}
	w.commit(c)
	_, err := w.set(addressOf(origin), "snapshot", `{"n":  2}`, nil)
	require.NoError(t, err)
	_, err = w.set(addressOf(origin), "gone", "", nil)
	require.NoError(t, err)
	before := w.picture(addressOf(origin))
	w.now += minute

	fork := w.fork(addressOf(origin), 0)
	fork.NewTarget = "copy"
	s := w.forked(fork)
	require.Equal(t, sessions.Session{ID: fork.NewID, Owner: owner, TargetKey: "copy", ProfileKey: "writer", Status: sessions.StatusCreated,
		Title: "a title", Preview: "question", Labels: map[string]string{"team": "blue"}, ForkedFrom: origin.ID, AgentID: "gone", MessageCount: 2,
		CreatedAt: w.now, LastActiveAt: w.now, Pending: []sessions.Pending{}, Fence: s.Fence}, s)
	require.Equal(t, s, w.get(byKey("copy", "writer")))
	require.Equal(t, picture{session: s, history: asCopied(before.history), frames: w.frames(s.Fence.Incarnation),
		state: map[string]sessions.StateValue{"snapshot": {Value: json.RawMessage(`{"n":  2}`), Version: 1, UpdatedAt: w.now}}},
		w.picture(addressOf(s)), "what a model sees is the same, to the byte")
	require.Empty(t, w.frames(s.Fence.Incarnation))

	next, done := w.turn(byKey("copy", "writer"), "next", "reply")
	require.EqualValues(t, 3, next.User.Seq)
	require.EqualValues(t, 1, done.Session.TurnCount)
	require.Equal(t, before, w.picture(addressOf(origin)), "the origin is as it was")
	if f.Reopen != nil {
		w.reopen()
		require.Equal(t, done.Session, w.get(addressOf(s)))
		require.Equal(t, before, w.picture(addressOf(origin)))
	}
}

func forkThrough(t *testing.T, f Factory) {
	w := newWorld(t, f)
	key := byKey("doc", "writer")
	w.create(sessions.CreateSession{At: key, AgentID: "gone"})
	_, err := w.store.SeedSession(t.Context(), w.seed(key)) // system, user, a call, its result; and a value
	require.NoError(t, err)
	w.turn(key, "question", "reply")
	origin := w.get(key)
	history := w.history(origin.Fence.Incarnation)
	for through := int64(1); through <= origin.MessageCount; through++ {
		s := w.forked(w.fork(key, through))
		copied := w.history(s.Fence.Incarnation)
		require.Equal(t, asCopied(history[:through]), copied[:through])
		require.NoError(t, sessions.CheckPairing("", copied))
		require.EqualValues(t, len(copied), s.MessageCount)
		require.Equal(t, origin.ProfileKey, s.ProfileKey)
		require.Empty(t, s.TargetKey)
		preview := "add"
		if through == 1 {
			preview = ""
		}
		require.Equal(t, preview, s.Preview, "of what was copied")
		require.Equal(t, through == origin.MessageCount, len(w.state(s)) == 1, "state goes with the last message only")
		require.Equal(t, through == origin.MessageCount, s.AgentID == origin.AgentID, "so does the saved agent")
	}
}

func forkOpenCalls(t *testing.T, f Factory) {
	w := newWorld(t, f)
	key := byKey("doc", "writer")
	calls := func(ids ...sessions.CallID) sessions.Message {
		m := sessions.Message{Role: sessions.RoleAssistant}
		for _, id := range ids {
			m.ToolCalls = append(m.ToolCalls, sessions.ToolCall{ID: id, Path: "math/add", Args: json.RawMessage(`{}`)})
		}
		return m
	}
	result := func(id sessions.CallID) sessions.Message {
		return sessions.Message{Role: sessions.RoleTool, ToolCallID: id, Content: sessions.Text("3")}
	}
	seed := w.seed(key)
	seed.Messages = []sessions.Message{{Role: sessions.RoleUser, Content: sessions.Text("add")},
		calls("a"), result("a"), calls("b", "c", "d"), result("c"), result("b"), result("d")}
	_, err := w.store.SeedSession(t.Context(), seed)
	require.NoError(t, err)
	w.now += minute
	for through, open := range map[int64][]sessions.CallID{2: {"a"}, 3: nil, 4: {"b", "c", "d"}, 5: {"b", "d"}, 6: {"d"}, 7: nil} {
		s := w.forked(w.fork(key, through))
		history := w.history(s.Fence.Incarnation)
		require.NoError(t, sessions.CheckPairing("", history))
		require.Len(t, history, int(through)+len(open))
		for i, id := range open {
			seq := through + int64(i) + 1
			require.Equal(t, sessions.Message{Seq: seq, Role: sessions.RoleTool, ToolCallID: id,
				Error: sessions.ErrCallCut.Info(), CreatedAt: w.now}, history[seq-1])
		}
		a, _ := w.turn(addressOf(s), "next", "reply")
		require.EqualValues(t, len(history)+1, a.User.Seq)
	}
}

func forkRunning(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	c := w.step(a)
	c.Messages = []sessions.Message{{Seq: 2, Role: sessions.RoleAssistant,
		ToolCalls: []sessions.ToolCall{{ID: "a", Path: "p"}, {ID: "b", Path: "p"}}}}
	c.State = map[string]json.RawMessage{"snapshot": json.RawMessage(`1`)}
	w.commit(c)
	before := w.picture(addressOf(a.Session))
	s := w.forked(w.fork(addressOf(a.Session), 0))
	require.Equal(t, before, w.picture(addressOf(a.Session)))
	require.Equal(t, sessions.StatusCreated, s.Status)
	require.Nil(t, s.ActiveTurn)
	history := w.history(s.Fence.Incarnation)
	require.Len(t, history, 4)
	require.NoError(t, sessions.CheckPairing("", history))
	require.Len(t, w.state(s), 1)
	w.turn(addressOf(s), "next", "reply")

	end := w.answer(sessions.AcceptedTurn{Session: before.session, Turn: a.Turn}, "reply")
	end.Messages = []sessions.Message{{Seq: 3, Role: sessions.RoleTool, ToolCallID: "a"}, {Seq: 4, Role: sessions.RoleTool, ToolCallID: "b"}}
	end.Frames, end.End.FinalSeq = nil, 0
	w.commit(end)
}

func forkLong(t *testing.T, f Factory) {
	w := newWorld(t, f)
	const count = 3000
	seed := w.seed(byKey("doc", "writer"))
	seed.Messages = nil
	for i := range count {
		seed.Messages = append(seed.Messages, sessions.Message{Role: sessions.RoleUser, Content: sessions.Text(fmt.Sprint("message ", i))})
	}
	origin, err := w.store.SeedSession(t.Context(), seed)
	require.NoError(t, err)
	s := w.forked(w.fork(byKey("doc", "writer"), 0))
	require.Equal(t, w.history(origin.Session.Fence.Incarnation), w.history(s.Fence.Incarnation))
}
