package story

import (
	"encoding/json"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/sessions"
)

var at = api.Address{TargetKey: "story"}

// prompt asks over a socket of its own, so that several may wait side by side.
func (p *process) prompt(args api.PromptArgs) <-chan api.Reply {
	s, reply := p.socket(), make(chan api.Reply, 1)
	args.Address = at
	s.Request(api.OpPrompt, args)
	go func() {
		defer close(reply)
		if m, err := s.TryRead(); err == nil {
			reply <- m.Reply
		}
	}()
	return reply
}

// answered is the text of a prompt's final message.
func answered(t *testing.T, reply api.Reply) string {
	t.Helper()
	return sessions.TextOf(hosttest.Result[api.PromptResult](t, reply).Message.Content)
}

// A conversation that meets all of it: two models, tools of a process, an approval
// seen by another client, text for a turn that waits, side questions, a tool of the
// client's, cells of JavaScript, kills in between, and a sub-agent.
func TestAConversationFromItsBeginningToItsEnd(t *testing.T) {
	gate := make(chan struct{})
	model, scout := mainModel(t, gate), scoutModel(t)
	house := build(t, model.BaseURL(), scout.BaseURL())
	first := house.serve()

	// The turn waits for an approval, and tells every client that comes.
	waits := hosttest.Result[api.PromptResult](t, <-first.prompt(api.PromptArgs{Text: lookUp, RequestID: "look", Wait: api.WaitPending}))
	require.Equal(t, api.PromptWaiting, waits.Status)
	require.Len(t, waits.Pending, 1)
	require.Equal(t, sessions.PendingApproval, waits.Pending[0].Kind)
	require.JSONEq(t, `{"text":"what the file says"}`, string(waits.Pending[0].Args))
	require.Equal(t, waits.Pending, first.followUntil(sessions.FrameWaiting).(sessions.Waiting).Pending)

	// What is said meanwhile is read when it goes on, and asked meanwhile at once.
	steered := first.prompt(api.PromptArgs{Text: beBrief, Busy: sessions.BusySteer, RequestID: "brief"})
	first.awaitClaim("brief")
	require.Equal(t, "Two parts.", first.ask(howLong))
	first.answer(api.AnswerArgs{CallID: waits.Pending[0].CallID, Approve: new(true)})
	require.Equal(t, "It says it.", answered(t, <-steered))
	require.Equal(t, "It says it.", answered(t, <-first.prompt(api.PromptArgs{Text: lookUp, RequestID: "look"})), "a repeat gets the same")

	// A side question while the model speaks.
	telling := first.prompt(api.PromptArgs{Text: tell})
	first.followUntil(sessions.FrameText)
	require.Equal(t, "Two parts.", first.ask(howLong))
	close(gate)
	require.Equal(t, strings.Join(tale, ""), answered(t, <-telling))

	// The user picks after the host was killed, and the cells remember.
	picks := hosttest.Result[api.PromptResult](t, <-first.prompt(api.PromptArgs{Text: pick, Wait: api.WaitPending}))
	require.Equal(t, sessions.PendingClientTool, picks.Pending[0].Kind)
	first.kill()
	second := house.serve()
	require.Equal(t, picks.Pending, second.session().Pending)
	second.answer(api.AnswerArgs{CallID: picks.Pending[0].CallID, Output: json.RawMessage(`"red"`)})
	turn := hosttest.Result[api.TurnResult](t, second.socket().Call(api.OpTurn,
		api.TurnArgs{Address: at, TurnID: picks.TurnID, Wait: api.WaitDone}))
	require.Equal(t, sessions.TurnIsCompleted, turn.Turn.Status)
	require.Contains(t, sessions.TextOf(turn.Turn.Message.Content), `"red" {"value":2}`, "the cells of before the kill go on")

	// Another model does a part of the work.
	done := answered(t, <-second.prompt(api.PromptArgs{Text: askScout}))
	require.Contains(t, done, "I saw a river.")
	server, err := strconv.Atoi(strings.Trim(done[strings.LastIndex(done, " ")+1:], `"`))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(server, 0), "the MCP server is a process")
	children := hosttest.Result[api.ChildrenResult](t, second.socket().Call(api.OpChildren, api.ChildrenArgs{Address: at}))
	require.Len(t, children.Refs, 1)
	require.Equal(t, "scout", children.Refs[0].ProfileKey)

	second.requireWhole()
	deleted := hosttest.Result[api.SessionDeleteResult](t, second.socket().Call(api.OpSessionDelete, api.SessionDeleteArgs{Address: at}))
	require.EqualValues(t, 2, deleted.Receipt.Sessions)
	second.stop()
	require.ErrorIs(t, syscall.Kill(server, 0), syscall.ESRCH, "no process is left")
}

// followUntil follows the session from its beginning to the first frame of a type.
func (p *process) followUntil(kind sessions.FrameType) sessions.FrameBody {
	s := p.socket()
	defer s.Cut()
	require.NoError(p.t, s.Call(api.OpSubscribe, api.SubscribeArgs{Address: at, After: "0"}).Err())
	for {
		m := s.Read()
		if m.Frame != nil && m.Frame.Type() == kind {
			return m.Frame.Body
		}
	}
}

// ask asks a side question.
func (p *process) ask(question string) string {
	s := p.socket()
	defer s.Cut()
	reply := s.Call(api.OpSideQuestion, api.SideQuestionArgs{Address: at, Question: question})
	return hosttest.Result[api.SideQuestionResult](p.t, reply).Text
}

// answer answers a call that waits.
func (p *process) answer(args api.AnswerArgs) {
	s := p.socket()
	defer s.Cut()
	args.Address = at
	require.True(p.t, hosttest.Result[api.AnswerResult](p.t, s.Call(api.OpAnswer, args)).Accepted)
}

func (p *process) session() sessions.Session {
	s := p.socket()
	defer s.Cut()
	return hosttest.Result[api.SessionGetResult](p.t, s.Call(api.OpSessionGet, api.SessionGetArgs{Address: at})).Session
}

// awaitClaim waits until a request is durable.
func (p *process) awaitClaim(id sessions.RequestID) {
	s := p.socket()
	defer s.Cut()
	require.Eventually(p.t, func() bool {
		return s.Call(api.OpTurn, api.TurnArgs{Address: at, RequestID: id}).Err() == nil
	}, hosttest.Patience, 5*time.Millisecond)
}

// requireWhole checks that every call of the conversation has its one result.
func (p *process) requireWhole() {
	s := p.socket()
	defer s.Cut()
	got := hosttest.Result[api.MessagesResult](p.t, s.Call(api.OpMessages, api.MessagesArgs{Address: at}))
	require.Empty(p.t, sessions.OpenCalls(got.Messages))
	require.NoError(p.t, sessions.CheckPairing("/messages", got.Messages))
}
