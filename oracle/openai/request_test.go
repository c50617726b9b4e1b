package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/oracle"
	"agenthost/oracle/openai/openaitest"
	"agenthost/oracle/provider/adaptertest"
	"agenthost/sessions"
)

// full is a request with everything a history can hold.
func full() oracle.Request {
	return oracle.Request{
		System: "Be <kind> & brief.",
		Messages: []sessions.Message{
			{Role: sessions.RoleSystem, Content: sessions.Text("The user is Ada.")},
			{Role: sessions.RoleUser, Content: []sessions.Content{
				{Type: sessions.ContentText, Text: "What is this?"},
				{Type: sessions.ContentText},
				{Type: sessions.ContentImage, MediaType: "image/png", Data: "aGk="},
				{Type: sessions.ContentImage, URL: "https://example.com/a.png"},
				{Type: sessions.ContentJSON, Value: json.RawMessage(`{"a": 1}`)},
			}},
			{Role: sessions.RoleAssistant, Content: sessions.Text("Let me see."), ToolCalls: []sessions.ToolCall{
				{ID: "c1", Path: "/builtin/time", Args: json.RawMessage(`{"zone": "UTC"}`)},
				{ID: sessions.CallID(strings.Repeat("long", 20)), Path: "/mcp/files/read.it"},
			}},
			{Role: sessions.RoleTool, ToolCallID: "c1", Content: []sessions.Content{{Type: sessions.ContentJSON, Value: json.RawMessage(`{"now":1}`)}}},
			{Role: sessions.RoleTool, ToolCallID: sessions.CallID(strings.Repeat("long", 20)), Error: &sessions.ErrorInfo{Code: sessions.CodeToolInvokeFailed, Message: "It broke."}},
			{Role: sessions.RoleAssistant, Content: sessions.Text("half an ans"), Interrupted: true},
			{Role: sessions.RoleUser, Content: []sessions.Content{{Type: sessions.ContentJSON, Value: json.RawMessage(`[1]`)}}},
			{Role: sessions.RoleAssistant},
			{Role: sessions.RoleUser},
		},
		Tools: []oracle.Tool{
			{Path: "/builtin/time", Name: "builtin__time", Description: "Tells the time.",
				Schema: json.RawMessage(`{"type":"object","properties":{"zone":{"type":"string","maxLength":9007199254740993}},"required":["zone"]}`)},
			{Path: "/x", Name: "x"},
			{Path: "/y", Name: "y", Schema: json.RawMessage(`{"type":"object"}`)},
		},
		Params: sessions.Params{MaxTokens: 99},
	}
}

func TestRequestHasTheFormOfTheAPI(t *testing.T) {
	server := openaitest.New(t, openaitest.Text("ok"))
	require.NoError(t, adaptertest.Infer(t.Context(), adapter.Oracle(t, server, nil), full()).Err)
	body := server.Requests()[0].Body
	require.JSONEq(t, `{
		"model": "m", "max_completion_tokens": 99, "stream": true, "stream_options": {"include_usage": true},
		"messages": [
			{"role": "system", "content": "Be <kind> & brief."},
			{"role": "system", "content": "The user is Ada."},
			{"role": "user", "content": [
				{"type": "text", "text": "What is this?"},
				{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
				{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
				{"type": "text", "text": "{\"a\": 1}"}]},
			{"role": "assistant", "content": "Let me see.", "tool_calls": [
				{"id": "c1", "type": "function", "function": {"name": "builtin__time", "arguments": "{\"zone\": \"UTC\"}"}},
				{"id": "call_5aa1dce72836fe4d935f7142ab1bc392", "type": "function", "function": {"name": "mcp__files__read_it_389045f0", "arguments": "{}"}}]},
			{"role": "tool", "tool_call_id": "c1", "content": "{\"now\":1}"},
			{"role": "tool", "tool_call_id": "call_5aa1dce72836fe4d935f7142ab1bc392", "content": "Error TOOL_INVOKE_FAILED: It broke."},
			{"role": "assistant", "content": "half an ans"},
			{"role": "user", "content": "[1]"},
			{"role": "assistant", "content": ""},
			{"role": "user", "content": ""}],
		"tools": [
			{"type": "function", "function": {"name": "builtin__time", "description": "Tells the time.", "parameters":
				{"type": "object", "properties": {"zone": {"type": "string", "maxLength": 9007199254740993}}, "required": ["zone"]}}},
			{"type": "function", "function": {"name": "x", "parameters": {"type": "object", "properties": {}}}},
			{"type": "function", "function": {"name": "y", "parameters": {"type": "object", "properties": {}}}}]
	}`, string(body))
	require.Contains(t, string(body), "9007199254740993", "numbers of a schema keep their digits")
}

func TestTheSameHistoryMakesTheSameBytes(t *testing.T) {
	server := openaitest.NewFunc(t, func(openaitest.Request) openaitest.Reply { return openaitest.Text("ok") })
	first, second := adapter.Oracle(t, server, nil), adapter.Oracle(t, server, nil)
	r := full()
	for range 5 {
		require.NoError(t, adaptertest.Infer(t.Context(), first, r).Err)
		require.NoError(t, adaptertest.Infer(t.Context(), second, full()).Err)
	}
	longer := full()
	longer.Messages = append(longer.Messages, sessions.Message{Role: sessions.RoleUser, Content: sessions.Text("more")})
	require.NoError(t, adaptertest.Infer(t.Context(), first, longer).Err)
	requests := server.Requests()
	for _, request := range requests[:10] {
		require.Equal(t, string(requests[0].Body), string(request.Body))
	}
	before, _, found := strings.Cut(string(requests[0].Body), `],"model"`)
	require.True(t, found)
	require.True(t, strings.HasPrefix(string(requests[10].Body), before), "a longer history begins with the bytes of the shorter")
}

func TestParallelCallsAndTheirResultsMakeAValidRequest(t *testing.T) {
	server := openaitest.New(t, openaitest.Calls(
		openaitest.Call{ID: "call_a", Name: "builtin__time", Args: `{"zone":"UTC"}`},
		openaitest.Call{ID: "call_b", Name: "builtin__echo", Args: `{}`},
	), openaitest.Text("It is noon."))
	o := adapter.Oracle(t, server, nil)
	r := adaptertest.Hi()
	a := adaptertest.Infer(t.Context(), o, r)
	require.NoError(t, a.Err)
	m := sessions.Message{Role: sessions.RoleAssistant}
	for _, c := range a.Calls {
		path := "/" + strings.ReplaceAll(c.Function, "__", "/")
		m.ToolCalls = append(m.ToolCalls, sessions.ToolCall{ID: c.ID, Path: path, Args: json.RawMessage(c.Args)})
	}
	r.Messages = append(r.Messages, m)
	for _, c := range a.Calls {
		value := []sessions.Content{{Type: sessions.ContentJSON, Value: json.RawMessage(`{"ok":true}`)}}
		r.Messages = append(r.Messages, sessions.Message{Role: sessions.RoleTool, ToolCallID: c.ID, Content: value})
	}
	a = adaptertest.Infer(t.Context(), o, r)
	require.NoError(t, a.Err)
	require.Equal(t, "It is noon.", a.Text)

	var body struct {
		Messages []json.RawMessage `json:"messages"`
	}
	require.NoError(t, json.Unmarshal(server.Requests()[1].Body, &body))
	require.Len(t, body.Messages, 4)
	require.JSONEq(t, `{"role":"assistant","tool_calls":[
		{"id":"call_a","type":"function","function":{"name":"builtin__time","arguments":"{\"zone\":\"UTC\"}"}},
		{"id":"call_b","type":"function","function":{"name":"builtin__echo","arguments":"{}"}}]}`, string(body.Messages[1]))
	require.JSONEq(t, `{"role":"tool","tool_call_id":"call_a","content":"{\"ok\":true}"}`, string(body.Messages[2]))
	require.JSONEq(t, `{"role":"tool","tool_call_id":"call_b","content":"{\"ok\":true}"}`, string(body.Messages[3]))
}

func TestParametersAndTheSchemaOfTheAnswerAreSent(t *testing.T) {
	server := openaitest.New(t, openaitest.Text("{}"), openaitest.Text("ok"))
	o := adapter.Oracle(t, server, nil)
	r := adaptertest.Hi()
	cool, most, seed := 0.0, 0.9, int64(0)
	r.Params = sessions.Params{Temperature: &cool, TopP: &most, MaxTokens: 5, Seed: &seed, Effort: "low"}
	r.Schema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}},"required":["n"],"additionalProperties":false}`)
	require.NoError(t, adaptertest.Infer(t.Context(), o, r).Err)
	require.NoError(t, adaptertest.Infer(t.Context(), o, adaptertest.Hi()).Err)
	require.JSONEq(t, `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}],
		"temperature":0,"top_p":0.9,"max_completion_tokens":5,"seed":0,"reasoning_effort":"low",
		"response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":
			{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}},"required":["n"],"additionalProperties":false}}}}`,
		string(server.Requests()[0].Body))
	require.Contains(t, string(server.Requests()[0].Body), "9007199254740993")
	require.JSONEq(t, `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}`,
		string(server.Requests()[1].Body), "what is not set is not sent")
}

func TestASchemaThatIsNoObjectFailsTheCall(t *testing.T) {
	server := openaitest.New(t)
	r := adaptertest.Hi()
	r.Tools = []oracle.Tool{{Path: "/x", Name: "x", Schema: json.RawMessage(`[]`)}}
	adaptertest.Infer(t.Context(), adapter.Oracle(t, server, nil), r).RequireFailure(t, "")
	r = adaptertest.Hi()
	r.Schema = json.RawMessage(`[]`)
	adaptertest.Infer(t.Context(), adapter.Oracle(t, server, nil), r).RequireFailure(t, "")
	require.Empty(t, server.Requests())
}
