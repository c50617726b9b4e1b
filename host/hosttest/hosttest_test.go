package hosttest_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

var order7 = api.Address{TargetKey: "order-7"}

func TestHostAnswersThroughEveryDoor(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	args := api.PromptArgs{Address: order7, Text: "hello"}

	result, err := h.Prompt(t.Context(), &args, nil)
	require.NoError(t, err)
	fromClient, err := h.Client.Prompt(t.Context(), args, nil)
	require.NoError(t, err)
	status, reply := h.Post(api.OpPrompt, args)
	require.Equal(t, 200, status)
	fromHTTP := hosttest.Result[api.PromptResult](t, reply)
	fromSocket := hosttest.Result[api.PromptResult](t, h.Socket().Call(api.OpPrompt, args))
	events := h.PostEvents(api.OpPrompt, args).Rest()

	for _, other := range []api.PromptResult{*fromClient, fromHTTP, fromSocket} {
		require.Equal(t, result.SessionID, other.SessionID)
	}
	require.Equal(t, int64(2), result.Message.Seq)
	require.Equal(t, int64(8), fromSocket.Message.Seq)
	require.Equal(t, "reply", events[len(events)-1].Name)
	require.Equal(t, sessions.FrameAccepted, events[0].Frame(t).Type())
}

func TestRestartKeepsStoreAddressAndClient(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	url, first := h.URL, h.Host
	before, err := h.Client.Prompt(t.Context(), api.PromptArgs{Address: order7, Text: "hello"}, nil)
	require.NoError(t, err)
	info, err := h.Client.HostInfo(t.Context())
	require.NoError(t, err)

	h.Restart()

	require.Equal(t, url, h.URL)
	require.NotSame(t, first, h.Host)
	again, err := h.Client.HostInfo(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, info.InstanceID, again.InstanceID)
	after, err := h.Client.Prompt(t.Context(), api.PromptArgs{Address: order7, Text: "again"}, nil)
	require.NoError(t, err)
	require.Equal(t, before.SessionID, after.SessionID)
	require.Equal(t, int64(4), after.Message.Seq)
}

func TestStopFreesTheStore(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	h.Stop()
	h.Stop()
	store, err := sqlite.Open(context.Background(), h.File, sqlite.Config{})
	require.NoError(t, err)
	require.NoError(t, store.Close())
}

func TestSocketShowsTheWire(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	s := h.Socket()
	s.Send(`{"id":7}`)
	m := s.Read()
	require.True(t, m.IsReply())
	require.Nil(t, m.ID)
	require.Equal(t, sessions.CodeInvalidRequest, hosttest.Code(m.Reply))

	frames, reply := s.Reply(s.Request(api.OpPrompt, json.RawMessage(`{"targetKey":"k","text":"hi","stream":true}`)))
	require.Empty(t, hosttest.Code(reply))
	require.Equal(t, sessions.FrameCompleted, frames[len(frames)-1].Type())
}

func TestFrameEventsGoOnFromAnID(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	result, err := h.Prompt(t.Context(), &api.PromptArgs{Address: order7, Text: "hello"}, nil)
	require.NoError(t, err)

	events := h.FrameEvents(result.SessionID, "?after=0", "")
	first, ok := events.Next()
	require.True(t, ok)
	require.Equal(t, int64(1), first.Frame(t).Seq)
	events.Close()

	second, ok := h.FrameEvents(result.SessionID, "?after=0", first.ID).Next()
	require.True(t, ok)
	require.Equal(t, int64(2), second.Frame(t).Seq)

	refused := h.FrameEvents("nobody", "", "")
	require.Equal(t, 404, refused.Status)
	require.Contains(t, refused.Body(), "SESSION_NOT_FOUND")
}
