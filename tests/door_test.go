package tests

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/sessions"
)

// door is one way into a host: it takes a request as it is on the wire and
// gives back what was answered.
type door struct {
	name string
	open func(t *testing.T, h *hosttest.Host) func(request string) api.Reply
}

// doors are the three ways in. What one of them answers, all must.
var doors = []door{{"go", goDoor}, {"http", httpDoor}, {"websocket", socketDoor}}

func goDoor(t *testing.T, h *hosttest.Host) func(string) api.Reply {
	t.Helper()
	return func(text string) api.Reply {
		request, err := api.DecodeRequest([]byte(text))
		if err != nil {
			return api.ErrorReply(request.ID, err)
		}
		args, err := request.DecodeArgs()
		if err != nil {
			return api.ErrorReply(request.ID, err)
		}
		result, err := h.Do(t.Context(), api.Caller{Owner: sessions.LocalOwner, Admin: true}, args, nil)
		if err != nil {
			return api.ErrorReply(request.ID, err)
		}
		return api.ResultReply(request.ID, result)
	}
}

func httpDoor(t *testing.T, h *hosttest.Host) func(string) api.Reply {
	t.Helper()
	return func(text string) api.Reply {
		status, reply := h.PostRaw(text)
		require.Equal(t, reply.HTTPStatus(), status)
		return reply
	}
}

func socketDoor(t *testing.T, h *hosttest.Host) func(string) api.Reply {
	t.Helper()
	running, s := h.Host, h.Socket()
	return func(text string) api.Reply {
		if h.Host != running { // restarted
			running, s = h.Host, h.Socket()
		}
		s.Send(text)
		m := s.Read()
		require.True(t, m.IsReply(), "want a reply, have %s", m.Text)
		return m.Reply
	}
}

// throughEveryDoor runs test once for each way in, each time on a host of its own
// and as a subtest: call.t.
func throughEveryDoor(t *testing.T, options func() hosttest.Options, test func(h *hosttest.Host, call caller)) {
	t.Helper()
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) {
			h := hosttest.New(t, options())
			test(h, caller{t, d.open(t, h)})
		})
	}
}

// caller makes requests through one door.
type caller struct {
	t    *testing.T
	send func(request string) api.Reply
}

// call makes one request; args are a value or JSON already.
func (c caller) call(op api.Op, args any) api.Reply {
	c.t.Helper()
	raw, err := json.Marshal(args)
	require.NoError(c.t, err)
	text, err := json.Marshal(api.Request{ID: new("1"), Op: op, Args: raw})
	require.NoError(c.t, err)
	return c.send(string(text))
}

// prompt sends text to the session of a key.
func (c caller) prompt(key, text string) api.Reply {
	c.t.Helper()
	return c.call(api.OpPrompt, api.PromptArgs{Address: api.Address{TargetKey: key}, Text: text})
}

// mustPrompt does so and returns the answer's text.
func (c caller) mustPrompt(key, text string) string {
	c.t.Helper()
	result := hosttest.Result[api.PromptResult](c.t, c.prompt(key, text))
	require.Equal(c.t, api.PromptCompleted, result.Status)
	require.NotNil(c.t, result.Message)
	return sessions.TextOf(result.Message.Content)
}
