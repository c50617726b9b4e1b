package storetest

import (
	"crypto/sha256"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// noon is the time at which every test starts, in milliseconds.
const noon sessions.Time = 1_750_000_000_000

const (
	minute = 60_000 // in milliseconds, as are the durations below
	ttl    = 5 * minute
	day    = 24 * 60 * minute
)

const owner = sessions.LocalOwner

// world is a store and what tests need around it: a clock that only they move,
// and names that are used once.
type world struct {
	t     *testing.T
	f     Factory
	store sessions.Store
	now   sessions.Time
	names atomic.Int64
}

func newWorld(t *testing.T, f Factory) *world {
	t.Helper()
	return &world{t: t, f: f, store: f.Open(t), now: noon}
}

// reopen closes the store and opens it again.
func (w *world) reopen() {
	w.t.Helper()
	w.store = w.f.Reopen(w.t, w.store)
}

// name returns a name that no other call returns.
func (w *world) name(kind string) string { return fmt.Sprintf("%s-%05d", kind, w.names.Add(1)) }

func byID(id sessions.SessionID) sessions.Address { return sessions.Address{ID: id} }

func byKey(target, profile string) sessions.Address {
	return sessions.Address{Key: sessions.Key{Target: target, Profile: profile}}
}

func addressOf(s sessions.Session) sessions.Address { return byID(s.ID) }

func fingerprint(of string) [32]byte { return sha256.Sum256([]byte(of)) }

// create makes a session and requires that it is new.
func (w *world) create(c sessions.CreateSession) sessions.Session {
	w.t.Helper()
	if c.Owner == "" {
		c.Owner = owner
	}
	c.NewID, c.Now = sessions.SessionID(w.name("new")), w.now
	got, err := w.store.CreateSession(w.t.Context(), c)
	require.NoError(w.t, err)
	require.True(w.t, got.Created)
	return got.Session
}

// session makes a session with an id of its own.
func (w *world) session() sessions.Session {
	w.t.Helper()
	return w.create(sessions.CreateSession{Profile: sessions.DefaultProfile})
}

// prompt returns a prompt to a session that would be accepted.
func (w *world) prompt(at sessions.Address, text string) sessions.AcceptTurn {
	id := w.name("request")
	return sessions.AcceptTurn{
		Owner: owner, At: at,
		Request: sessions.Request{ID: sessions.RequestID(id), Fingerprint: fingerprint(text), TTLMs: ttl},
		TurnID:  sessions.TurnID(w.name("turn")), NewID: sessions.SessionID(w.name("new")),
		Content: sessions.Text(text), Limits: sessions.TurnLimits{MaxIterations: 25, PromptTimeoutMs: ttl},
		Admitted: true, Now: w.now,
	}
}

// again returns the same request as a retry sends it: with ids of its own.
func (w *world) again(c sessions.AcceptTurn) sessions.AcceptTurn {
	c.TurnID, c.NewID, c.Now = sessions.TurnID(w.name("turn")), sessions.SessionID(w.name("new")), w.now
	return c
}

// accept requires that a prompt is accepted.
func (w *world) accept(c sessions.AcceptTurn) sessions.AcceptedTurn {
	w.t.Helper()
	got, err := w.store.AcceptTurn(w.t.Context(), c)
	require.NoError(w.t, err)
	require.False(w.t, got.Duplicate)
	return got
}

// step returns an empty step of an accepted turn.
func (w *world) step(a sessions.AcceptedTurn) sessions.CommitTurn {
	return sessions.CommitTurn{Fence: a.Session.Fence, TurnID: a.Turn.TurnID, RequestID: a.Turn.RequestID, Now: w.now}
}

// answer returns the step that completes an accepted turn with a text.
func (w *world) answer(a sessions.AcceptedTurn, text string) sessions.CommitTurn {
	c := w.step(a)
	m := sessions.Message{Seq: a.Session.MessageCount + 1, Role: sessions.RoleAssistant, Content: sessions.Text(text)}
	c.Messages = []sessions.Message{m}
	c.Frames = []sessions.FrameBody{sessions.MessageAppended{Message: m}}
	c.Usage, c.Model, c.Iterations = sessions.Usage{InputTokens: 10, OutputTokens: 3, CachedTokens: 2, Calls: 1}, "model-a", 1
	c.End = &sessions.TurnEnd{Status: sessions.TurnIsCompleted, FinalSeq: m.Seq, ClaimTTLMs: ttl}
	return c
}

// commit requires that a step is stored.
func (w *world) commit(c sessions.CommitTurn) sessions.CommittedTurn {
	w.t.Helper()
	got, err := w.store.CommitTurn(w.t.Context(), c)
	require.NoError(w.t, err)
	return got
}

// turn runs a whole turn at an address.
func (w *world) turn(at sessions.Address, question, reply string) (sessions.AcceptedTurn, sessions.CommittedTurn) {
	w.t.Helper()
	a := w.accept(w.prompt(at, question))
	return a, w.commit(w.answer(a, reply))
}

// end ends a turn without a message.
func (w *world) end(a sessions.AcceptedTurn, status sessions.TurnStatus, failure *sessions.ErrorInfo) sessions.CommittedTurn {
	w.t.Helper()
	c := w.step(a)
	c.End = &sessions.TurnEnd{Status: status, Error: failure, ClaimTTLMs: ttl}
	return w.commit(c)
}

// get requires that a session is found.
func (w *world) get(at sessions.Address) sessions.Session {
	w.t.Helper()
	s, err := w.store.Session(w.t.Context(), owner, at)
	require.NoError(w.t, err)
	return s
}

// history returns all messages of a life.
func (w *world) history(life sessions.Incarnation) []sessions.Message {
	w.t.Helper()
	page, err := w.store.Messages(w.t.Context(), life, sessions.MessageQuery{})
	require.NoError(w.t, err)
	require.False(w.t, page.HasMore)
	return page.Messages
}

// frames returns all frames of a life.
func (w *world) frames(life sessions.Incarnation) []sessions.Frame {
	w.t.Helper()
	page, err := w.store.Frames(w.t.Context(), life, sessions.FrameQuery{})
	require.NoError(w.t, err)
	require.False(w.t, page.HasMore)
	return page.Frames
}

// remove deletes a session and requires that there was one.
func (w *world) remove(at sessions.Address) sessions.Receipt {
	w.t.Helper()
	receipt, err := w.store.DeleteSession(w.t.Context(), sessions.DeleteSession{
		Owner: owner, At: at, TombstoneMs: 30 * day, Now: w.now}, nil)
	require.NoError(w.t, err)
	require.NotNil(w.t, receipt)
	require.True(w.t, receipt.Complete)
	return *receipt
}

// requireCode requires an error of a code.
func requireCode(t *testing.T, code sessions.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, sessions.CodeOf(err), "%v", err)
}

// failure is an error that a turn may end with.
func failure(code sessions.Code) *sessions.ErrorInfo {
	return sessions.Errorf(code, "This is what went wrong.").Info()
}
