package anthropic_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/oracle"
	"agenthost/oracle/anthropic/anthropictest"
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
				{ID: "c1", Path: "/builtin/time", Args: json.RawMessage(`{"zone":"UTC","n":9007199254740993}`)},
				{ID: "an id: odd", Path: "/mcp/files/read.it"},
			}},
			{Role: sessions.RoleTool, ToolCallID: "c1", Content: []sessions.Content{{Type: sessions.ContentJSON, Value: json.RawMessage(`{"now":1}`)}}},
			{Role: sessions.RoleTool, ToolCallID: "an id: odd", Error: &sessions.ErrorInfo{Code: sessions.CodeToolInvokeFailed, Message: "It broke."}},
			{Role: sessions.RoleAssistant, Content: sessions.Text("half an ans"), Interrupted: true},
			{Role: sessions.RoleUser, Content: []sessions.Content{{Type: sessions.ContentJSON, Value: json.RawMessage(`[1]`)}}},
			{Role: sessions.RoleAssistant},
			{Role: sessions.RoleUser, Content: sessions.Text(" ")},
			{Role: sessions.RoleSystem, Content: sessions.Text("Speak up.")},
		},
		Tools: []oracle.Tool{
			{Path: "/builtin/time", Name: "builtin__time", Description: "Tells the time.",
				Schema: json.RawMessage(`{"type":"object","required":["zone"],"$defs":{"z":{"maxLength":9007199254740993}},"properties":{"zone":{"$ref":"#/$defs/z"}},"additionalProperties":false}`)},
			{Path: "/x", Name: "x"},
		},
		Params: sessions.Params{MaxTokens: 99},
	}
}

func TestRequestHasTheFormOfTheAPI(t *testing.T) {
	server := anthropictest.New(t, anthropictest.Text("ok"))
	require.NoError(t, adaptertest.Infer(t.Context(), adapter.Oracle(t, server, nil), full()).Err)
	body := server.Requests()[0].Body
	require.JSONEq(t, `{
		"model": "m", "max_tokens": 99, "stream": true, "cache_control": {"type": "ephemeral"},
		"system": [
			{"type": "text", "text": "Be <kind> & brief."},
			{"type": "text", "text": "The user is Ada.", "cache_control": {"type": "ephemeral"}}],
		"messages": [
			{"role": "user", "content": [
				{"type": "text", "text": "What is this?"},
				{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
				{"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
				{"type": "text", "text": "{\"a\": 1}"}]},
			{"role": "assistant", "content": [
				{"type": "text", "text": "Let me see."},
				{"type": "tool_use", "id": "c1", "name": "builtin__time", "input": {"zone": "UTC", "n": 9007199254740993}},
				{"type": "tool_use", "id": "call_c387aa8297c2c280da17ad5073fd748d", "name": "mcp__files__read_it_389045f0", "input": {}}]},
			{"role": "user", "content": [
				{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "{\"now\":1}"}]},
				{"type": "tool_result", "tool_use_id": "call_c387aa8297c2c280da17ad5073fd748d", "is_error": true,
					"content": [{"type": "text", "text": "Error TOOL_INVOKE_FAILED: It broke."}]}]},
			{"role": "assistant", "content": [{"type": "text", "text": "half an ans"}]},
			{"role": "user", "content": [
				{"type": "text", "text": "[1]"}, {"type": "text", "text": "(no text)"}, {"type": "text", "text": "System: Speak up."}]}],
		"tools": [
			{"name": "builtin__time", "description": "Tells the time.", "input_schema":
				{"type": "object", "properties": {"zone": {"$ref": "#/$defs/z"}}, "required": ["zone"],
				"$defs": {"z": {"maxLength": 9007199254740993}}, "additionalProperties": false}},
			{"name": "x", "input_schema": {"type": "object", "properties": {}}}]
	}`, string(body))
	require.Equal(t, 2, strings.Count(string(body), "9007199254740993"), "numbers keep their digits")
}

// A model goes on only after the user, and a history may end, or begin, with
// an answer.
func TestTheUserHasTheFirstAndTheLastWord(t *testing.T) {
	answer := sessions.Message{Role: sessions.RoleAssistant, Content: sessions.Text("half an ans"), Interrupted: true}
	server := anthropictest.New(t, anthropictest.Text("ok"), anthropictest.Text("ok"))
	o := adapter.Oracle(t, server, nil)
	require.NoError(t, adaptertest.Infer(t.Context(), o, oracle.Request{Messages: []sessions.Message{answer, answer}}).Err)
	require.NoError(t, adaptertest.Infer(t.Context(), o, oracle.Request{}).Err)
	require.Equal(t, []string{
		`user: (the conversation begins with an answer)`, `assistant: half an ans`, `assistant: half an ans`,
		`user: (the answer above was cut short; continue it)`,
	}, spoken(t, server.Requests()[0].Body))
	require.Equal(t, []string{`user: (no text)`}, spoken(t, server.Requests()[1].Body))
}

// spoken lists the texts of a request's messages.
func spoken(t *testing.T, body []byte) []string {
	t.Helper()
	var r struct {
		Messages []struct {
			Role    string
			Content []struct{ Text string }
		}
	}
	require.NoError(t, json.Unmarshal(body, &r))
	var texts []string
	for _, m := range r.Messages {
		for _, c := range m.Content {
			texts = append(texts, m.Role+": "+c.Text)
		}
	}
	return texts
}

func TestParametersAndTheSchemaOfTheAnswerAreSent(t *testing.T) {
	server := anthropictest.New(t, anthropictest.Text("{}"), anthropictest.Text("ok"))
	o := adapter.Oracle(t, server, nil)
	r := adaptertest.Hi()
	cool, most, seed := 0.0, 0.9, int64(0)
	r.Params = sessions.Params{Temperature: &cool, TopP: &most, MaxTokens: 5, Seed: &seed, Effort: "low"} // three of which the API does not have
	r.Schema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}},"required":["n"],"additionalProperties":false}`)
	require.NoError(t, adaptertest.Infer(t.Context(), o, r).Err)
	require.NoError(t, adaptertest.Infer(t.Context(), o, adaptertest.Hi()).Err)
	const rest = `"model":"m","stream":true,"cache_control":{"type":"ephemeral"},"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]`
	require.JSONEq(t, `{`+rest+`,"max_tokens":5,"output_config":{"effort":"low","format":{"type":"json_schema","schema":
		{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}},"required":["n"],"additionalProperties":false}}}}`,
		string(server.Requests()[0].Body))
	require.Contains(t, string(server.Requests()[0].Body), "9007199254740993")
	require.JSONEq(t, `{`+rest+`,"max_tokens":32000}`, string(server.Requests()[1].Body))
}

func TestTheSameHistoryMakesTheSameBytes(t *testing.T) {
	server := anthropictest.NewFunc(t, func(anthropictest.Request) anthropictest.Reply { return anthropictest.Text("ok") })
	first, second := adapter.Oracle(t, server, nil), adapter.Oracle(t, server, nil)
	r := full()
	for range 5 {
		require.NoError(t, adaptertest.Infer(t.Context(), first, r).Err)
		require.NoError(t, adaptertest.Infer(t.Context(), second, full()).Err)
	}
	longer := full()
	longer.Messages = append(longer.Messages,
		sessions.Message{Role: sessions.RoleAssistant, Content: sessions.Text("Louder?")},
		sessions.Message{Role: sessions.RoleUser, Content: sessions.Text("more")})
	require.NoError(t, adaptertest.Infer(t.Context(), first, longer).Err)
	requests := server.Requests()
	for _, request := range requests[:10] {
		require.Equal(t, string(requests[0].Body), string(request.Body))
	}
	before, after, found := strings.Cut(string(requests[0].Body), `],"model"`)
	require.True(t, found)
	require.True(t, strings.HasPrefix(string(requests[10].Body), before), "a longer history begins with the bytes of the shorter")
	require.True(t, strings.HasSuffix(string(requests[10].Body), after), "and all else is the same")
}

// The provider looks back over no more than twenty blocks from a mark.
func TestAStepOfManyCallsMarksTheEndOfTheRequestBefore(t *testing.T) {
	for calls, marked := range map[int]bool{9: false, 10: true, 40: true} {
		server := anthropictest.New(t, anthropictest.Text("ok"))
		r := adaptertest.Hi()
		m := sessions.Message{Role: sessions.RoleAssistant}
		var results []sessions.Message
		for i := range calls {
			id := sessions.CallID(fmt.Sprint("c", i))
			m.ToolCalls = append(m.ToolCalls, sessions.ToolCall{ID: id, Path: "/x"})
			results = append(results, sessions.Message{Role: sessions.RoleTool, ToolCallID: id})
		}
		r.Messages = append(append(r.Messages, m), results...)
		r.Tools = []oracle.Tool{{Path: "/x", Name: "x"}}
		require.NoError(t, adaptertest.Infer(t.Context(), adapter.Oracle(t, server, nil), r).Err)
		var body struct {
			Tools    []map[string]any
			Messages []struct{ Content []map[string]any }
		}
		require.NoError(t, json.Unmarshal(server.Requests()[0].Body, &body))
		require.Contains(t, body.Tools[0], "cache_control", "without a system's text the tools end what sessions share")
		_, has := body.Messages[0].Content[0]["cache_control"]
		require.Equal(t, marked, has, "%d calls", calls)
	}
}

func TestParallelCallsAndTheirResultsMakeAValidRequest(t *testing.T) {
	server := anthropictest.New(t, anthropictest.Calls(
		anthropictest.Call{ID: "toolu_a", Name: "builtin__time", Args: `{"zone":"UTC"}`},
		anthropictest.Call{ID: "toolu_b", Name: "builtin__echo", Args: `{}`},
	), anthropictest.Text("It is noon."))
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
		r.Messages = append(r.Messages, sessions.Message{Role: sessions.RoleTool, ToolCallID: c.ID})
	}
	a = adaptertest.Infer(t.Context(), o, r)
	require.NoError(t, a.Err)
	require.Equal(t, "It is noon.", a.Text)

	var body struct {
		Messages []json.RawMessage `json:"messages"`
	}
	require.NoError(t, json.Unmarshal(server.Requests()[1].Body, &body))
	require.Len(t, body.Messages, 3)
	require.JSONEq(t, `{"role":"assistant","content":[
		{"type":"tool_use","id":"toolu_a","name":"builtin__time","input":{"zone":"UTC"}},
		{"type":"tool_use","id":"toolu_b","name":"builtin__echo","input":{}}]}`, string(body.Messages[1]))
	require.JSONEq(t, `{"role":"user","content":[
		{"type":"tool_result","tool_use_id":"toolu_a"},{"type":"tool_result","tool_use_id":"toolu_b"}]}`, string(body.Messages[2]))
}

func TestASchemaThatIsNoObjectFailsTheCall(t *testing.T) {
	server := anthropictest.New(t)
	r := adaptertest.Hi()
	r.Tools = []oracle.Tool{{Path: "/x", Name: "x", Schema: json.RawMessage(`[]`)}}
	adaptertest.Infer(t.Context(), adapter.Oracle(t, server, nil), r).RequireFailure(t, "")
	r = adaptertest.Hi()
	r.Schema = json.RawMessage(`[]`)
	adaptertest.Infer(t.Context(), adapter.Oracle(t, server, nil), r).RequireFailure(t, "")
	require.Empty(t, server.Requests())
}
