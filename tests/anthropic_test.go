package tests

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/oracle/anthropic"
	"agenthost/oracle/anthropic/anthropictest"
	"agenthost/sessions"
	"agenthost/tools"
)

// claudeHost is a host whose default profile asks a model server on the
// loopback; its sessions leave memory at once.
func claudeHost(t *testing.T, model *anthropictest.Server) *hosttest.Host {
	t.Helper()
	oracle, err := anthropic.New(anthropic.Config{Model: "m", BaseURL: model.BaseURL(), MaxRetries: -1})
	require.NoError(t, err)
	return hosttest.New(t, hosttest.Options{Profiles: map[string]host.Profile{sessions.DefaultProfile: {
		Oracle: oracle, System: "be brief", Tools: hosttest.AllTools(), IdleTTL: 20 * time.Millisecond,
	}}})
}

func TestClaudeCallsToolsInParallelOverWebSocket(t *testing.T) {
	timeTool, echoTool := sessions.FunctionName(tools.TimePath), sessions.FunctionName(tools.EchoPath)
	model := anthropictest.New(t,
		anthropictest.Calls(anthropictest.Call{ID: "toolu_a", Name: timeTool, Args: "{}"},
			anthropictest.Call{ID: "toolu_b", Name: echoTool, Args: `{"text":"hi"}`}),
		anthropictest.Text("It is ", "noon."))
	s := claudeHost(t, model).Socket()
	reply := s.Call(api.OpPrompt, api.PromptArgs{Address: atK, Text: "what time is it?", Stream: true})
	result := hosttest.Result[api.PromptResult](t, reply)
	require.Equal(t, "It is noon.", sessions.TextOf(result.Message.Content))
	require.Equal(t, sessions.Usage{InputTokens: 20, OutputTokens: 4, Calls: 2}, result.Usage)

	require.Len(t, model.Requests(), 2) // the server has failed the test at an invalid one
	var body struct {
		Messages []struct {
			Role    string
			Content []struct {
				Type, Name, ID string
				ToolUseID      string `json:"tool_use_id"`
				Content        []struct{ Text string }
			}
		}
	}
	require.NoError(t, json.Unmarshal(model.Requests()[1].Body, &body))
	require.Len(t, body.Messages, 3)
	asked, answered := body.Messages[1].Content, body.Messages[2].Content
	require.Len(t, asked, 2)
	require.Equal(t, []string{timeTool, echoTool}, []string{asked[0].Name, asked[1].Name})
	require.Len(t, answered, 2)
	require.Equal(t, asked[0].ID, answered[0].ToolUseID, "results come in call order")
	require.Equal(t, asked[1].ID, answered[1].ToolUseID)
	require.Equal(t, `"hi"`, answered[1].Content[0].Text)
}

// What the provider's cache has seen is sent again byte for byte: in the next
// step, after the session has left memory, and after a restart.
func TestPrefixesStayTheSameOverEvictionAndRestart(t *testing.T) {
	echoTool := sessions.FunctionName(tools.EchoPath)
	model := anthropictest.New(t,
		anthropictest.Calls(anthropictest.Call{Name: echoTool, Args: `{"text":"<a> & ü"}`}, anthropictest.Call{Name: echoTool, Args: `{"te`}),
		anthropictest.Text("one"), anthropictest.Text("two"), anthropictest.Text("three"))
	h := claudeHost(t, model)
	prompt := func(text string) {
		t.Helper()
		_, err := h.Client.Prompt(t.Context(), api.PromptArgs{Address: atK, Text: text}, nil)
		require.NoError(t, err)
	}
	prompt("first")
	awaitEviction(t, h, "k")
	prompt("second")
	h.Restart()
	prompt("third")

	requests := model.Requests()
	require.Len(t, requests, 4)
	for i := range requests[1:] {
		before, rest, found := strings.Cut(string(requests[i].Body), `],"model":`)
		require.True(t, found)
		after := string(requests[i+1].Body)
		require.True(t, strings.HasPrefix(after, before), "request %d begins with\n%s\nbut the next is\n%s", i+1, before, after)
		require.True(t, strings.HasSuffix(after, rest), "tools and system's text of request %d", i+2)
	}
}

func TestAnOverloadedClaudeEndsTheTurnOnly(t *testing.T) {
	model := anthropictest.New(t,
		anthropictest.Stream(anthropictest.Start(1, 0, 0), anthropictest.TextBlock(0), anthropictest.Delta(0, "I was about to"),
			anthropictest.Error("overloaded_error", "secret words")),
		anthropictest.Text("back"))
	h := claudeHost(t, model)
	reply := h.Socket().Call(api.OpPrompt, api.PromptArgs{Address: atK, Text: "hello"})
	require.Equal(t, sessions.CodeLLMAPIFailure, hosttest.Code(reply))
	require.NotContains(t, jsonOf(t, reply), "secret words")
	result, err := h.Client.Prompt(t.Context(), api.PromptArgs{Address: atK, Text: "hello?"}, nil)
	require.NoError(t, err)
	require.Equal(t, "back", sessions.TextOf(result.Message.Content))
	require.Contains(t, string(model.Requests()[1].Body), "I was about to")
}
