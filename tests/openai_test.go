package tests

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/oracle/openai"
	"agenthost/oracle/openai/openaitest"
	"agenthost/sessions"
	"agenthost/tools"
)

// modelHost is a host whose default profile asks a model server on the loopback.
func modelHost(t *testing.T, model *openaitest.Server) *hosttest.Host {
	t.Helper()
	oracle, err := openai.New(openai.Config{Model: "m", BaseURL: model.BaseURL(), MaxRetries: -1})
	require.NoError(t, err)
	return hosttest.New(t, hosttest.Options{Profiles: map[string]host.Profile{
		sessions.DefaultProfile: {Oracle: oracle, System: "be brief", Tools: hosttest.AllTools()},
	}})
}

// gatedText is an answer of two pieces, the second of which waits for gate.
func gatedText(first, second string, gate <-chan struct{}) openaitest.Reply {
	reply := openaitest.Text(first, second)
	reply.Pieces[2].Gate = gate // after the role and the first piece
	return reply
}

func TestModelCallsToolsInParallelWithTwoRequests(t *testing.T) {
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) {
			timeTool, echoTool := sessions.FunctionName(tools.TimePath), sessions.FunctionName(tools.EchoPath)
			model := openaitest.New(t,
				openaitest.Calls(openaitest.Call{ID: "a", Name: timeTool, Args: "{}"},
					openaitest.Call{ID: "b", Name: echoTool, Args: `{"text":"hi"}`}),
				openaitest.Text("It is ", "noon."))
			call := caller{t, d.open(t, modelHost(t, model))}
			require.Equal(t, "It is noon.", call.mustPrompt("k", "what time is it?"))

			requests := model.Requests()
			require.Len(t, requests, 2)
			for _, r := range requests { // the server has failed the test at an invalid one
				require.NoError(t, openaitest.Validate(r.Body))
			}
			var body struct {
				Messages []struct {
					Role       string `json:"role"`
					Content    any    `json:"content"`
					ToolCallID string `json:"tool_call_id"`
					ToolCalls  []struct {
						ID       string `json:"id"`
						Function struct {
							Name string `json:"name"`
						} `json:"function"`
					} `json:"tool_calls"`
				} `json:"messages"`
			}
			require.NoError(t, json.Unmarshal(requests[1].Body, &body))
			require.Len(t, body.Messages, 5)
			asked := body.Messages[2].ToolCalls
			require.Len(t, asked, 2)
			require.Equal(t, []string{timeTool, echoTool}, []string{asked[0].Function.Name, asked[1].Function.Name})
			require.Equal(t, asked[0].ID, body.Messages[3].ToolCallID, "results come in call order")
			require.Equal(t, asked[1].ID, body.Messages[4].ToolCallID)
			require.Equal(t, `"hi"`, body.Messages[4].Content)
		})
	}
}

// Text reaches a client while the model still writes: the model's end waits
// until the client has the beginning.
func TestModelTextStreamsAsItArrives(t *testing.T) {
	t.Run("websocket", func(t *testing.T) {
		gate := make(chan struct{})
		h := modelHost(t, openaitest.New(t, gatedText("Once ", "more.", gate)))
		s := h.Socket()
		id := s.Request(api.OpPrompt, api.PromptArgs{Address: atK, Text: "hello", Stream: true})
		var text string
		for text == "" {
			m := s.Read()
			require.NotNil(t, m.Frame, m.Text)
			if delta, ok := m.Frame.Body.(sessions.Delta); ok {
				text = delta.Text
			}
		}
		require.Equal(t, "Once ", text)
		close(gate)
		_, reply := s.Reply(id)
		result := hosttest.Result[api.PromptResult](t, reply)
		require.Equal(t, "Once more.", sessions.TextOf(result.Message.Content))
		require.Equal(t, sessions.Usage{InputTokens: 10, OutputTokens: 2, Calls: 1}, result.Usage)
	})
	t.Run("events of a prompt", func(t *testing.T) {
		gate := make(chan struct{})
		h := modelHost(t, openaitest.New(t, gatedText("Once ", "more.", gate)))
		stream := h.PostEvents(api.OpPrompt, api.PromptArgs{Address: atK, Text: "hello"})
		require.Equal(t, 200, stream.Status)
		awaitDelta(t, stream, "Once ")
		close(gate)
		events := stream.Rest()
		require.Equal(t, "reply", events[len(events)-1].Name)
	})
	t.Run("events of a subscription", func(t *testing.T) {
		gate := make(chan struct{})
		h := modelHost(t, openaitest.New(t, gatedText("Once ", "more.", gate)))
		_, err := h.SessionCreate(t.Context(), &api.SessionCreateArgs{Address: atK})
		require.NoError(t, err)
		stream := h.FrameEvents(sessionOf(t, h, "k"), "", "")
		require.Equal(t, 200, stream.Status)
		running := background(func() (*api.PromptResult, error) {
			return h.Client.Prompt(t.Context(), api.PromptArgs{Address: atK, Text: "hello"}, nil)
		})
		awaitDelta(t, stream, "Once ")
		close(gate)
		require.NoError(t, (<-running).err)
	})
	t.Run("client", func(t *testing.T) {
		gate := make(chan struct{})
		h := modelHost(t, openaitest.New(t, gatedText("Once ", "more.", gate)))
		var open sync.Once
		result, err := h.Client.Prompt(t.Context(), api.PromptArgs{Address: atK, Text: "hello"}, func(f sessions.Frame) error {
			if f.Type() == sessions.FrameDelta {
				open.Do(func() { close(gate) })
			}
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, "Once more.", sessions.TextOf(result.Message.Content))
	})
}

func awaitDelta(t *testing.T, stream *hosttest.Events, text string) {
	t.Helper()
	for {
		event, ok := stream.Next()
		require.True(t, ok)
		if event.Name != "delta" {
			continue
		}
		require.Equal(t, text, event.Frame(t).Body.(sessions.Delta).Text)
		return
	}
}

// A model server's own words stay with the host, and its failure ends one turn.
func TestModelFailureEndsTheTurnOnly(t *testing.T) {
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) {
			cut := openaitest.Text("I was about to", " say")
			cut.Pieces, cut.End = cut.Pieces[:2], openaitest.Cut
			model := openaitest.New(t, openaitest.Failure(500, "secret words"), cut, openaitest.Text("back"))
			call := caller{t, d.open(t, modelHost(t, model))}
			for range 2 {
				reply := call.prompt("k", "hello")
				require.Equal(t, sessions.CodeLLMAPIFailure, hosttest.Code(reply))
				require.NotContains(t, jsonOf(t, reply), "secret words")
			}
			require.Equal(t, "back", call.mustPrompt("k", "hello?"))
			require.Contains(t, string(model.Requests()[2].Body), "I was about to")
		})
	}
}

func TestCancelEndsTheModelCall(t *testing.T) {
	gone := make(chan struct{})
	endless := openaitest.Text("well", "")
	endless.Pieces, endless.End = endless.Pieces[:2], openaitest.Hang
	endless.OnGone = func() { close(gone) }
	h := modelHost(t, openaitest.New(t, endless, openaitest.Text("fine")))
	stream := h.PostEvents(api.OpPrompt, api.PromptArgs{Address: atK, Text: "hello"})
	awaitDelta(t, stream, "well")
	cancelled, err := h.Cancel(t.Context(), &api.CancelArgs{Address: atK})
	require.NoError(t, err)
	require.True(t, cancelled.Cancelled)
	<-gone
	events := stream.Rest()
	require.Contains(t, events[len(events)-1].Data, "CANCELLED")
	require.Equal(t, "fine", caller{t, httpDoor(t, h)}.mustPrompt("k", "and now?"))
}
