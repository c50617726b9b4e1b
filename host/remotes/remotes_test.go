package remotes_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/host/remotes"
	"agenthost/host/server"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
)

func TestMain(m *testing.M) {
	// net/http lingers half a second before it closes a connection whose body it
	// did not read.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// store lets a test look at, or refuse, what a host asks of its store.
type store struct {
	sessions.Store
	mu       sync.Mutex
	onAdd    func() error
	onCreate func()
}

func (s *store) wrap(inner sessions.Store) sessions.Store {
	s.Store = inner
	return s
}

func (s *store) AddRefs(ctx context.Context, parent sessions.Incarnation, refs []sessions.Ref) ([]sessions.Ref, error) {
	if s.onAdd != nil {
		if err := s.onAdd(); err != nil {
			return nil, err
		}
	}
	return s.Store.AddRefs(ctx, parent, refs)
}

func (s *store) CreateSession(ctx context.Context, c sessions.CreateSession) (sessions.CreatedSession, error) {
	s.mu.Lock()
	hook := s.onCreate
	s.mu.Unlock()
	if hook != nil {
		hook()
	}
	return s.Store.CreateSession(ctx, c)
}

// when is a rule for turns whose text contains a word.
func when(word string, steps ...scripted.Step) scripted.Rule {
	return scripted.Rule{When: word, Steps: steps}
}

// hosts are two hosts, of which near's agents ask far's.
type hosts struct {
	near, far *hosttest.Host
	far0      *store // of far
	near0     *store // of near
}

var atK = api.Address{TargetKey: "k"}

// pair starts two hosts. far answers "fine" but for its rules.
func pair(t *testing.T, grace time.Duration, change func(*hosttest.Options), rules ...scripted.Rule) *hosts {
	t.Helper()
	h := &hosts{near0: &store{}, far0: &store{}}
	far := hosttest.Options{WrapStore: h.far0.wrap, Profiles: map[string]host.Profile{sessions.DefaultProfile: {
		Oracle: scripted.Play(scripted.Script{Rules: append(rules, when("", scripted.Step{Text: "fine", Repeat: true}))}),
	}}}
	if change != nil {
		change(&far)
	}
	h.far = hosttest.New(t, far)
	tree := &tools.Tree{}
	other := remotes.New("east", h.far.URL, remotes.Config{Grace: grace, Key: "secret"})
	t.Cleanup(other.Close)
	require.NoError(t, other.Mount(tree, sessions.DefaultProfile, "unknown"))
	h.near = hosttest.New(t, hosttest.Options{WrapStore: h.near0.wrap, Config: host.Config{Tools: tree}, Profiles: map[string]host.Profile{
		sessions.DefaultProfile: {Oracle: echoCalls(), Tools: []string{"/agents"}},
	}})
	return h
}

// echoCalls is an oracle that makes the call whose path and arguments are in the
// prompt, and then says "done".
func echoCalls() *scripted.Oracle {
	var rules []scripted.Rule
	for name, call := range bids {
		rules = append(rules, when(name, scripted.Step{Calls: []scripted.Call{call}}, scripted.Step{Text: "done"}))
	}
	return scripted.Play(scripted.Script{Rules: rules})
}

// bids are the calls that near's agent can be asked for, by the word that asks.
var bids = map[string]scripted.Call{
	"once":    {Path: "/agents/east/default", Args: `{"prompt":"once"}`},
	"hang":    {Path: "/agents/east/default", Args: `{"prompt":"hang"}`},
	"unknown": {Path: "/agents/east/unknown", Args: `{"prompt":"once"}`},
	"helper":  {Path: "/agents/east/default", Args: `{"prompt":"help","name":"helper"}`},
	"spawn":   {Path: "/agents/east/default", Args: `{"name":"helper","action":"spawn"}`},
	"begin":   {Path: "/agents/east/default", Args: `{"name":"helper","action":"spawn","prompt":"gate"}`},
	"collect": {Path: "/agents/east/default", Args: `{"name":"helper","action":"wait"}`},
	"end":     {Path: "/agents/east/default", Args: `{"name":"helper","action":"terminate"}`},
}

// bid lets near's agent make a call, and returns its result.
func (h *hosts) bid(t *testing.T, word string) sessions.Message {
	t.Helper()
	_, err := h.near.Prompt(t.Context(), &api.PromptArgs{Address: atK, Text: word}, nil)
	require.NoError(t, err)
	page, err := h.near.Messages(t.Context(), &api.MessagesArgs{Address: atK, Order: api.Descending, Limit: new(2)})
	require.NoError(t, err)
	return page.Messages[1]
}

// says requires that a result is an output.
func says(t *testing.T, output string, m sessions.Message) {
	t.Helper()
	require.Nil(t, m.Error, "%+v", m.Error)
	require.JSONEq(t, output, string(m.Content[0].Value))
}

func (h *hosts) refs(t *testing.T) []sessions.Ref {
	t.Helper()
	r, err := h.near.Children(t.Context(), &api.ChildrenArgs{Address: atK})
	require.NoError(t, err)
	return r.Refs
}

func (h *hosts) there(t *testing.T) []sessions.Session {
	t.Helper()
	list, err := h.far.SessionList(t.Context(), &api.SessionListArgs{})
	require.NoError(t, err)
	return list.Sessions
}

func TestTheRefIsThereBeforeTheChild(t *testing.T) {
	h := pair(t, time.Minute, nil)
	var before []sessions.Ref
	h.far0.mu.Lock()
	h.far0.onCreate = func() {
		r, err := h.near.Children(context.Background(), &api.ChildrenArgs{Address: atK})
		if err == nil {
			before = r.Refs
		}
	}
	h.far0.mu.Unlock()
	says(t, `"fine"`, h.bid(t, "once"))
	require.Len(t, before, 1)
	require.Equal(t, sessions.RefCreated, before[0].Status)
	after := h.refs(t)
	require.Len(t, after, 1)
	require.Equal(t, before[0].SessionID, after[0].SessionID)
	require.Equal(t, sessions.RefIdle, after[0].Status)
	s := h.there(t)[0]
	require.Equal(t, after[0].SessionID, s.ID)
	require.NotEmpty(t, s.Labels[remotes.LabelParent])
}

func TestARefThatCannotBeWrittenStartsNothing(t *testing.T) {
	h := pair(t, time.Minute, nil)
	h.near0.onAdd = func() error { return sessions.Errorf(sessions.CodeStoreUnavailable, "Away for a test.") }
	require.Equal(t, sessions.CodeStoreUnavailable, h.bid(t, "once").Error.Code)
	require.Empty(t, h.there(t))
}

func TestFailuresOfARemoteChild(t *testing.T) {
	h := pair(t, time.Minute, nil, when("once", scripted.Step{Fail: "secret text"}))
	failed := h.bid(t, "once").Error
	require.Equal(t, sessions.CodeToolInvokeFailed, failed.Code)
	require.Equal(t, string(sessions.CodeLLMAPIFailure), failed.Details["childCode"])
	require.Equal(t, sessions.RefFailed, h.refs(t)[0].Status)
	require.Equal(t, string(sessions.CodeUnknownProfile), h.bid(t, "unknown").Error.Details["childCode"])
}

func TestARemoteCompanion(t *testing.T) {
	gate := make(chan struct{})
	h := pair(t, time.Minute, nil, when("gate", scripted.Step{Gate: gate, Text: "42"}))
	says(t, `"fine"`, h.bid(t, "helper"))
	h.bid(t, "begin")
	require.Equal(t, sessions.RefRunning, h.refs(t)[0].Status)
	close(gate)
	says(t, `"42"`, h.bid(t, "collect"))
	require.Len(t, h.there(t), 1)
	old := h.bid(t, "end")
	require.Nil(t, old.Error)
	require.Equal(t, sessions.RefClosed, h.refs(t)[0].Status)
	require.Equal(t, sessions.StatusClosed, h.there(t)[0].Status)
	before := h.refs(t)[0].SessionID
	says(t, `"fine"`, h.bid(t, "helper"))
	require.Len(t, h.refs(t), 1)
	require.NotEqual(t, before, h.refs(t)[0].SessionID)
	require.Len(t, h.there(t), 1)
}

func TestARemoteCompanionThatCannotBeDeletedStaysAsItIs(t *testing.T) {
	h := pair(t, 50*time.Millisecond, nil)
	h.bid(t, "spawn")
	require.Nil(t, h.bid(t, "end").Error)
	before := h.refs(t)
	h.far.Stop()
	require.Equal(t, sessions.CodeSubagentLost, h.bid(t, "spawn").Error.Code)
	require.Equal(t, before, h.refs(t))
}

func TestARemoteChildThatWasDeletedIsLost(t *testing.T) {
	h := pair(t, time.Minute, nil)
	h.bid(t, "helper")
	_, err := h.far.SessionDelete(t.Context(), &api.SessionDeleteArgs{Address: api.Address{SessionID: h.refs(t)[0].SessionID}})
	require.NoError(t, err)
	require.Equal(t, sessions.CodeSubagentLost, h.bid(t, "helper").Error.Code)
	require.Equal(t, sessions.RefLost, h.refs(t)[0].Status)
	says(t, `"fine"`, h.bid(t, "helper"))
	require.Equal(t, sessions.RefIdle, h.refs(t)[0].Status)
}

func TestCancelOfTheParentCancelsTheRemoteChild(t *testing.T) {
	h := pair(t, time.Minute, nil, when("hang", scripted.Step{Hang: true}))
	done := make(chan error, 1)
	go func() {
		_, err := h.near.Prompt(context.Background(), &api.PromptArgs{Address: atK, Text: "hang"}, nil)
		done <- err
	}()
	require.Eventually(t, func() bool {
		r, err := h.near.Children(context.Background(), &api.ChildrenArgs{Address: atK})
		return err == nil && len(r.Refs) == 1 && r.Refs[0].Status == sessions.RefRunning
	}, hosttest.Patience, time.Millisecond)
	cancelled, err := h.near.Cancel(t.Context(), &api.CancelArgs{Address: atK})
	require.NoError(t, err)
	require.True(t, cancelled.Cancelled)
	require.Equal(t, sessions.CodeCancelled, sessions.CodeOf(<-done))
	require.Eventually(t, func() bool {
		r, err := h.near.Children(context.Background(), &api.ChildrenArgs{Address: atK})
		return err == nil && r.Refs[0].Status == sessions.RefIdle
	}, hosttest.Patience, time.Millisecond)
	require.Equal(t, sessions.StatusIdle, h.there(t)[0].Status)
}

func TestTheKeyIsSent(t *testing.T) {
	var keys sync.Map
	h := pair(t, time.Minute, func(o *hosttest.Options) {
		o.Server = server.Config{Authenticate: func(r *http.Request) (api.Caller, error) {
			keys.Store(r.Header.Get("Authorization"), true)
			return api.Caller{Owner: sessions.LocalOwner}, nil
		}}
	})
	says(t, `"fine"`, h.bid(t, "once"))
	_, sent := keys.Load("Bearer secret")
	require.True(t, sent)
}
