package model

import (
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"agenthost/host/api"
	"agenthost/sessions"
)

// compare compares what the last command may have changed with the contract:
// the list, and all of each session that has changed there.
func (m *machine) compare(t *rapid.T) {
	m.t = t
	m.told("")
	m.learnTexts(t)
	m.compareList(t)
	for _, s := range m.model.sessions {
		if now := m.model.sum(s); m.compared[s] != now {
			m.compareSession(t, s)
			m.compared[s] = m.model.sum(s)
		}
	}
}

// learnTexts finds out the ids of turns that were text when they were accepted.
func (m *machine) learnTexts(t *rapid.T) {
	for _, s := range m.model.sessions {
		if !slices.ContainsFunc(s.turns, func(one *turn) bool { return one.id == "" }) {
			continue
		}
		page, code := ask(m.world, (*hostAccess).Turns, &api.TurnsArgs{Address: address{id: s.id}.wire(), Limit: new(api.MaxPageLimit)})
		require.Empty(t, code)
		require.Len(t, page.Turns, len(s.turns), "turns of %s", s.id)
		for i, one := range s.turns {
			if one.id == "" {
				one.id = page.Turns[len(s.turns)-1-i].TurnID
			}
		}
	}
}

// compareAll compares everything, whether it should have changed or not.
func (m *machine) compareAll(t *rapid.T) {
	clear(m.compared)
	m.compare(t)
	for _, at := range []address{{key: "k0"}, {key: "k1"}, {id: "s2"}, {id: "s3"}} {
		want := sessions.CodeSessionNotFound
		if m.model.find(at) != nil {
			want = ""
		}
		_, code := ask(m.world, (*hostAccess).SessionGet, &api.SessionGetArgs{Address: at.wire()})
		require.Equal(t, want, code, "%v", at)
	}
}

// compareList compares the list with the contract's. What a restart has left queued
// runs with nobody waiting for it, so the list is asked for until it agrees.
func (m *machine) compareList(t *rapid.T) {
	var want []shown
	for _, s := range m.model.list() {
		want = append(want, s.shown())
	}
	got := m.list(t)
	for end := time.Now().Add(patience); !assert.ObjectsAreEqual(want, got) && time.Now().Before(end); got = m.list(t) {
		time.Sleep(time.Millisecond)
	}
	require.Equal(t, want, got, "the list")
}

// list walks the list, a page of two at a time.
func (m *machine) list(t *rapid.T) (all []shown) {
	for cursor := ""; ; {
		page, code := ask(m.world, (*hostAccess).SessionList, &api.SessionListArgs{Limit: new(2), Cursor: cursor})
		require.Empty(t, code)
		for _, s := range page.Sessions {
			all = append(all, shownOf(s))
		}
		if cursor = page.NextCursor; cursor == "" {
			return all
		}
	}
}

// shown is what a session shows of itself, in the contract's words.
type shown struct {
	id, key      string
	status       sessions.Status
	title        string
	labels       map[string]string
	preview      string
	turns        int64
	messages     int64
	queued       int64
	active       sessions.TurnID
	activeAt     int64
	closedAt     int64
	closedReason string
	lastError    sessions.Code
	parent       string
	location     sessions.Location
}

func (s *session) shown() shown {
	is := shown{
		id: s.id, key: s.key, status: s.status, title: s.title, labels: s.labels, preview: s.preview,
		turns: s.ended(), messages: int64(len(s.messages)), queued: int64(len(s.queue)), activeAt: s.activeAt,
		closedAt: s.closedAt, closedReason: s.closedReason, lastError: s.lastError,
		parent: s.parent, location: s.location,
	}
	if t := s.active(); t != nil {
		is.active = t.id
	}
	return is
}

func shownOf(s sessions.Session) shown {
	is := shown{
		id: string(s.ID), key: s.TargetKey, status: s.Status, title: s.Title, labels: s.Labels, preview: s.Preview,
		turns: s.TurnCount, messages: s.MessageCount, queued: s.Queued, activeAt: int64(s.LastActiveAt),
		closedAt: int64(s.ClosedAt), closedReason: s.ClosedReason,
		parent: string(s.ParentID), location: s.ParentLocation,
	}
	if s.ActiveTurn != nil {
		is.active = s.ActiveTurn.TurnID
	}
	if s.LastError != nil {
		is.lastError = s.LastError.Code
	}
	return is
}

func (m *machine) compareSession(t *rapid.T, s *session) {
	at := address{id: s.id}.wire()
	m.compareMessages(t, s, at)
	m.compareTurns(t, s, at)
	m.compareState(t, s, at)
	m.compareFrames(t, s, at)
	m.compareChildren(t, s, at)
}

func (m *machine) compareMessages(t *rapid.T, s *session, at api.Address) {
	page, code := ask(m.world, (*hostAccess).Messages, &api.MessagesArgs{Address: at})
	require.Empty(t, code)
	require.False(t, page.HasMore)
	var got []message
	for i, one := range page.Messages {
		require.EqualValues(t, i+1, one.Seq)
		is := message{role: one.Role, calls: len(one.ToolCalls), failed: one.Error != nil, interrupted: one.Interrupted}
		if one.Role != sessions.RoleTool {
			is.text = sessions.TextOf(one.Content)
		}
		got = append(got, is)
	}
	require.Equal(t, s.messages, got, "messages of %s", s.id)
	whole := page.Messages
	if a := s.active(); a != nil && a.inTool != "" {
		whole = whole[:len(whole)-1] // its call is under way
	}
	require.NoError(t, sessions.CheckPairing("", whole))
}

func (m *machine) compareTurns(t *rapid.T, s *session, at api.Address) {
	page, code := ask(m.world, (*hostAccess).Turns, &api.TurnsArgs{Address: at, Limit: new(api.MaxPageLimit)})
	require.Empty(t, code)
	require.Len(t, page.Turns, len(s.turns), "turns of %s", s.id)
	active := 0
	for i, got := range page.Turns {
		want := s.turns[len(s.turns)-1-i]
		require.Equal(t, want.id, got.TurnID)
		require.Equal(t, want.request, string(got.RequestID))
		require.Equal(t, want.status, got.Status, "turn %s", want.id)
		require.Equal(t, want.attempts, got.Attempts, "turn %s", want.id)
		if want.status == sessions.TurnIsFailed || want.status == sessions.TurnIsInterrupted {
			require.Equal(t, want.code, got.Error.Code)
		} else {
			require.Nil(t, got.Error)
		}
		if got.Status == sessions.TurnIsRunning {
			active++
		}
	}
	require.LessOrEqual(t, active, 1)
}

func (m *machine) compareState(t *rapid.T, s *session, at api.Address) {
	page, code := ask(m.world, (*hostAccess).State, &api.StateArgs{Address: at})
	require.Empty(t, code)
	got := map[string]value{}
	for name, v := range page.State {
		got[name] = value{v.Version, string(v.Value)}
	}
	want := maps.Clone(s.state)
	maps.DeleteFunc(want, func(_ string, v value) bool { return v.json == "" })
	require.Equal(t, want, got, "state of %s", s.id)
}

// compareFrames checks that frames are numbered without a gap, that each turn
// has its beginning and, once it has ended, its one end, and that those about
// messages tell each message once.
func (m *machine) compareFrames(t *rapid.T, s *session, at api.Address) {
	page, code := ask(m.world, (*hostAccess).Frames, &api.FramesArgs{Address: at, Limit: new(1000)})
	require.Empty(t, code)
	require.False(t, page.HasMore)
	byTurn := map[sessions.TurnID][]sessions.Frame{}
	told := map[int64]int{}
	closed := 0
	for i, f := range page.Frames {
		require.EqualValues(t, i+1, f.Seq)
		byTurn[f.TurnID] = append(byTurn[f.TurnID], f)
		switch body := f.Body.(type) {
		case sessions.MessageAppended:
			told[body.Message.Seq]++
		case sessions.Closed:
			closed++
			require.Len(t, page.Frames, i+1, "nothing follows the close")
		}
	}
	if s.status == sessions.StatusClosed {
		require.Equal(t, 1, closed)
	} else {
		require.Zero(t, closed)
	}
	for seq, n := range told {
		require.Equal(t, 1, n, "message %d is told", seq)
	}
	for _, turn := range s.turns {
		switch frames := byTurn[turn.id]; {
		case turn.begun:
			requireOneEnd(t, frames, turn)
		case turn.status.Terminal():
			require.Len(t, frames, 1, "all that a turn has which never started")
			require.Equal(t, string(turn.status), string(frames[0].Type()))
		default:
			require.Empty(t, frames)
		}
	}
}

// requireOneEnd checks the frames of one turn.
func requireOneEnd(t rapid.TB, frames []sessions.Frame, turn *turn) {
	t.Helper()
	require.GreaterOrEqual(t, len(frames), 2)
	require.Equal(t, sessions.FrameAccepted, frames[0].Type())
	require.Equal(t, sessions.FrameStarted, frames[1].Type())
	ends := 0
	for i, f := range frames {
		if f.Type().Terminal() {
			ends++
			require.Len(t, frames, i+1, "nothing of a turn follows its end")
			require.Equal(t, string(turn.status), string(f.Type()))
		}
	}
	if turn.status.Terminal() {
		require.Equal(t, 1, ends, "turn %s has its end", turn.id)
	} else {
		require.Zero(t, ends, "turn %s goes on", turn.id)
	}
}
