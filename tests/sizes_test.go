package tests

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/host/server"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
)

// requireTooLarge requires a refusal that names the limit and its value.
func requireTooLarge(t *testing.T, reply api.Reply, limit string, max int64) {
	t.Helper()
	require.Equal(t, sessions.CodePayloadTooLarge, hosttest.Code(reply))
	require.Equal(t, limit, reply.Error.Details["limit"])
	require.EqualValues(t, max, reply.Error.Details["max"])
}

func TestCase22PromptsAreStoredWholeOrRefused(t *testing.T) {
	limits := sessions.DefaultLimits()
	throughEveryDoor(t, offlineHost, func(h *hosttest.Host, call caller) {
		t := call.t
		whole := strings.Repeat("a", int(limits.MessageBytes)-4) + "😀"
		call.mustPrompt("k", whole)
		requireTooLarge(t, call.prompt("k", whole+"b"), "messageBytes", limits.MessageBytes)
		requireTooLarge(t, call.prompt("k", strings.Repeat("a", 7<<20)), "messageBytes", limits.MessageBytes)
		requireInOrder(t, h, "k", whole)
		call.mustPrompt("k", "a small one")
	})
}

// Who sets one limit keeps the defaults of the others.
func TestOneLimitAlone(t *testing.T) {
	options := func() hosttest.Options {
		return hosttest.Options{Config: host.Config{Limits: sessions.Limits{MessageBytes: 100}}}
	}
	throughEveryDoor(t, options, func(_ *hosttest.Host, call caller) {
		call.mustPrompt("k", "hello")
		requireTooLarge(call.t, call.prompt("k", strings.Repeat("a", 101)), "messageBytes", 100)
	})
}

func TestCase22RequestsOverTheLimit(t *testing.T) {
	limits := sessions.DefaultLimits()
	request := `{"id":"1","op":"$prompt","args":{"targetKey":"k","text":"` + strings.Repeat("a", int(limits.EnvelopeBytes)) + `"}}`
	h := hosttest.New(t, offlineHost())
	t.Run("http", func(t *testing.T) {
		status, reply := h.PostRaw(request)
		require.Equal(t, 413, status)
		requireTooLarge(t, reply, "envelopeBytes", limits.EnvelopeBytes)
	})
	t.Run("websocket", func(t *testing.T) {
		s := h.Socket()
		s.Send(request)
		_, err := s.TryRead()
		require.Equal(t, websocket.StatusMessageTooBig, websocket.CloseStatus(err))
	})
	list, err := h.SessionList(t.Context(), &api.SessionListArgs{})
	require.NoError(t, err)
	require.Empty(t, list.Sessions)
	require.NotEmpty(t, caller{t, httpDoor(t, h)}.mustPrompt("k", "hello"))
}

// What a tool gives is kept whole, or the model hears of the limit.
func TestCase22ToolResults(t *testing.T) {
	limits := sessions.DefaultLimits()
	sizes := map[string]int{"whole": int(limits.ToolResultBytes) - 2, "over": int(limits.ToolResultBytes) - 1, "huge": 8 << 20}
	b := newBench(when("size", scripted.Step{Calls: []scripted.Call{
		{Path: "/test/size", Args: `{"name":"whole"}`}, {Path: "/test/size", Args: `{"name":"over"}`}, {Path: "/test/size", Args: `{"name":"huge"}`},
	}}, scripted.Step{Text: "seen"}))
	o := b.options(t, host.Profile{})
	type args struct {
		Name string `json:"name"`
	}
	require.NoError(t, o.Config.Tools.Mount("/test/size", tools.MustFunc("Gives much.",
		func(_ context.Context, _ tools.Call, in args) (string, error) {
			return strings.Repeat("a", sizes[in.Name]), nil
		})))
	h := hosttest.New(t, o)
	require.Equal(t, "seen", caller{t, httpDoor(t, h)}.mustPrompt("k", "size"))
	results := b.oracle.Requests()[1].Messages[2:]
	require.Len(t, results, 3)
	require.Nil(t, results[0].Error)
	require.Len(t, results[0].Content[0].Value, int(limits.ToolResultBytes))
	for _, m := range results[1:] {
		require.Equal(t, sessions.CodePayloadTooLarge, m.Error.Code)
		require.Equal(t, "toolResultBytes", m.Error.Details["limit"])
	}
}

func TestModelsThatSayTooMuchFailTheirTurn(t *testing.T) {
	o := sessions.DefaultLimits()
	o.TurnTextBytes, o.CallsPerStep = 1000, 3
	var b *bench
	options := func() hosttest.Options {
		b = newBench(when("talk", scripted.Step{Deltas: []scripted.Delta{{Text: strings.Repeat("a", 1000)}, {Text: "b"}}}),
			when("call", calls(waitPath, waitPath, waitPath, waitPath)))
		options := b.options(t, host.Profile{})
		options.Config.Limits = o
		return options
	}
	throughEveryDoor(t, options, func(h *hosttest.Host, call caller) {
		t := call.t
		requireTooLarge(t, call.prompt("k", "talk"), "turnTextBytes", 1000)
		page, err := h.Messages(t.Context(), &api.MessagesArgs{Address: atK})
		require.NoError(t, err)
		require.Equal(t, strings.Repeat("a", 1000), sessions.TextOf(page.Messages[1].Content))
		require.True(t, page.Messages[1].Interrupted)
		requireTooLarge(t, call.prompt("k", "call"), "callsPerStep", 3)
		_, ran := b.invoked.Load(waitPath)
		require.False(t, ran, "none of them is run")
		require.Equal(t, "fine", call.mustPrompt("k", "and now?"))
	})
}

// A client that never reads holds nobody up, and is cut off.
func TestCase35ClientThatNeverReads(t *testing.T) {
	const talkers = 4 // who together say more than fits between host and client
	var talk scripted.Step
	for range 800 {
		talk.Deltas = append(talk.Deltas, scripted.Delta{Text: strings.Repeat("a", 4<<10)})
	}
	b := newBench(when("talk", talk))
	o := b.options(t, host.Profile{})
	o.Server = server.Config{StallAfter: 100 * time.Millisecond}
	h := hosttest.New(t, o)
	deaf := h.Socket()
	for i := range talkers {
		deaf.Request(api.OpPrompt, api.PromptArgs{Address: api.Address{TargetKey: fmt.Sprint(i)}, Text: "talk", Stream: true})
	}
	require.NoError(t, b.oracle.Await(t.Context(), talkers))
	call := caller{t, socketDoor(t, h)}
	for range 20 {
		require.Equal(t, "fine", call.mustPrompt("other", "hello"))
	}
	require.Eventually(t, func() bool { // the turns do not wait for their reader
		info, err := h.HostInfo(context.WithoutCancel(t.Context()), &api.HostInfoArgs{})
		return err == nil && info.ActiveTurns == 0
	}, hosttest.Patience, 5*time.Millisecond)
	require.Eventually(t, func() bool { // and the host does not wait for ever
		return deaf.TrySend(`{"id":"p","op":"$ping"}`) != nil
	}, hosttest.Patience, 20*time.Millisecond)
}
