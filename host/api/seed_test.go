package api_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/sessions"
)

const (
	userMessage = `{"role":"user","content":[{"type":"text","text":"x"}]}`
	callMessage = `{"role":"assistant","toolCalls":[{"id":"c1","path":"/a","args":{"n": 1}},{"id":"c2","path":"/b","args":{}}]}`
	result1     = `{"role":"tool","toolCallId":"c1","content":[{"type":"json","value":{"ok":true}}]}`
	result2     = `{"role":"tool","toolCallId":"c2","error":{"code":"TOOL_INVOKE_FAILED","message":"It fell.","retryable":false,"details":{"n":1}}}`
)

func seedText(messages string) string {
	return `{"op":"$sessionSeed","args":{"sessionId":"s","messages":[` + messages + `]}}`
}

func TestSeedTakesATranscript(t *testing.T) {
	args, err := parse(`{"op":"$sessionSeed","args":{"targetKey":"k","requestId":"r","state":{"snapshot": [1, 2] },"messages":[
		{"role":"system","content":[{"type":"text","text":"Be kind."}]},` + userMessage + `,` + callMessage + `,` + result2 + `,` + result1 + `,
		{"role":"assistant","content":[{"type":"text","text":"Hal"}],"interrupted":true}]}}`)
	require.NoError(t, err)
	seed := args.(*api.SessionSeedArgs)
	require.Equal(t, `[1, 2]`, string(seed.State["snapshot"]))
	messages := seed.SessionMessages()
	require.Len(t, messages, 6)
	require.Equal(t, sessions.Message{Role: sessions.RoleSystem, Content: sessions.Text("Be kind.")}, messages[0])
	require.Equal(t, []sessions.ToolCall{{ID: "c1", Path: "/a", Args: json.RawMessage(`{"n": 1}`)}, {ID: "c2", Path: "/b", Args: json.RawMessage(`{}`)}}, messages[2].ToolCalls)
	require.Equal(t, sessions.CallID("c2"), messages[3].ToolCallID)
	require.Equal(t, sessions.CodeToolInvokeFailed, messages[3].Error.Code)
	require.True(t, messages[5].Interrupted)
	require.Empty(t, sessions.OpenCalls(messages))
}

func TestSeedRefuses(t *testing.T) {
	for name, c := range map[string]struct{ messages, field string }{
		"no messages":         {``, "/args/messages"},
		"a seq":               {`{"role":"user","seq":1,"content":[{"type":"text","text":"x"}]}`, "/args/messages/0/seq"},
		"no role":             {`{"content":[{"type":"text","text":"x"}]}`, "/args/messages/0/role"},
		"another role":        {userMessage + `,{"role":"developer","content":[{"type":"text","text":"x"}]}`, "/args/messages/1/role"},
		"no content":          {`{"role":"user"}`, "/args/messages/0/content"},
		"empty content":       {`{"role":"assistant","content":[]}`, "/args/messages/0/content"},
		"empty text":          {`{"role":"user","content":[{"type":"text","text":""}]}`, "/args/messages/0/content/0/text"},
		"calls of a user":     {`{"role":"user","toolCalls":[{"id":"c","path":"/a","args":{}}]}`, "/args/messages/0/toolCalls"},
		"interrupted user":    {`{"role":"user","interrupted":true,"content":[{"type":"text","text":"x"}]}`, "/args/messages/0/interrupted"},
		"error of a user":     {`{"role":"user","error":{"code":"INTERNAL","message":"m"}}`, "/args/messages/0/error"},
		"user with call id":   {`{"role":"user","toolCallId":"c","content":[{"type":"text","text":"x"}]}`, "/args/messages/0/toolCallId"},
		"tool without call":   {`{"role":"tool","content":[{"type":"text","text":"x"}]}`, "/args/messages/0/toolCallId"},
		"tool without result": {callMessage + `,{"role":"tool","toolCallId":"c1"}`, "/args/messages/1/content"},
		"result too early":    {result1 + `,` + callMessage, "/args/messages/0/toolCallId"},
		"result twice":        {callMessage + `,` + result1 + `,` + result1, "/args/messages/2/toolCallId"},
		"missing result":      {callMessage + `,` + result1, "/args/messages"},
		"message in between":  {callMessage + `,` + result1 + `,` + userMessage + `,` + result2, "/args/messages/2"},
		"same call id":        {`{"role":"assistant","toolCalls":[{"id":"c","path":"/a","args":{}},{"id":"c","path":"/a","args":{}}]}`, "/args/messages/0/toolCalls"},
		"no call id":          {`{"role":"assistant","toolCalls":[{"path":"/a","args":{}}]}`, "/args/messages/0/toolCalls/0/id"},
		"call id with NUL":    {`{"role":"assistant","toolCalls":[{"id":"\u0000","path":"/a","args":{}}]}`, "/args/messages/0/toolCalls/0/id"},
		"no path":             {`{"role":"assistant","toolCalls":[{"id":"c","args":{}}]}`, "/args/messages/0/toolCalls/0/path"},
		"no slash":            {`{"role":"assistant","toolCalls":[{"id":"c","path":"a","args":{}}]}`, "/args/messages/0/toolCalls/0/path"},
		"no args":             {`{"role":"assistant","toolCalls":[{"id":"c","path":"/a"}]}`, "/args/messages/0/toolCalls/0/args"},
		"args as text":        {`{"role":"assistant","toolCalls":[{"id":"c","path":"/a","args":"{}"}]}`, "/args/messages/0/toolCalls/0/args"},
		"duplicate in args":   {`{"role":"assistant","toolCalls":[{"id":"c","path":"/a","args":{"x":1,"x":1}}]}`, "/args/messages/0/toolCalls/0/args/x"},
		"unknown code":        {callMessage + `,{"role":"tool","toolCallId":"c1","error":{"code":"OOPS","message":"m"}},` + result2, "/args/messages/1/error/code"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(seedText(c.messages))
			requireField(t, err, sessions.CodeInvalidRequest, c.field)
		})
	}
	_, err := parse(`{"op":"$sessionSeed","args":{"sessionId":"s","state":{"\n":1},"messages":[` + userMessage + `]}}`)
	requireField(t, err, sessions.CodeInvalidRequest, "/args/state/\n")
}
