package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/sessions"
)

// invalid are requests that are INVALID_REQUEST about the field.
var invalid = []struct{ op, args, field string }{
	// addressing
	{"$prompt", `{"text":"x"}`, "/args/sessionId"},
	{"$prompt", `{"sessionId":"s","targetKey":"k","text":"x"}`, "/args/targetKey"},
	{"$prompt", `{"sessionId":"s","profileKey":"p","text":"x"}`, "/args/profileKey"},
	{"$prompt", `{"profileKey":"p","text":"x"}`, "/args/profileKey"},
	{"$prompt", `{"sessionId":"","text":"x"}`, "/args/sessionId"},
	{"$prompt", `{"sessionId":"-s","text":"x"}`, "/args/sessionId"},
	{"$prompt", `{"sessionId":"s\u0000","text":"x"}`, "/args/sessionId"},
	{"$prompt", `{"sessionId":"` + strings.Repeat("s", 129) + `","text":"x"}`, "/args/sessionId"},
	{"$prompt", `{"targetKey":"a\u0000","text":"x"}`, "/args/targetKey"},
	{"$prompt", `{"targetKey":"` + strings.Repeat("é", 129) + `","text":"x"}`, "/args/targetKey"},
	{"$prompt", `{"targetKey":"k","profileKey":"\n","text":"x"}`, "/args/profileKey"},
	{"$prompt", `{"targetKey":"k","owner":"","text":"x"}`, "/args/owner"},
	{"$sessionGet", `{}`, "/args/sessionId"},
	{"$sessionDelete", `{}`, "/args/sessionId"},
	{"$sessionUpdate", `{"title":"x"}`, "/args/sessionId"},
	{"$cancel", `{}`, "/args/sessionId"},
	{"$turns", `{}`, "/args/sessionId"},
	{"$messages", `{}`, "/args/sessionId"},
	{"$frames", `{}`, "/args/sessionId"},
	{"$state", `{}`, "/args/sessionId"},
	{"$sessionSeed", `{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`, "/args/sessionId"},
	{"$subscribe", `{"profileKey":"p"}`, "/args/profileKey"},
	{"$subscribe", `{"sessionId":""}`, "/args/sessionId"},
	{"$sessionCreate", `{"profileKey":"p"}`, "/args/profileKey"},
	{"$sessionCreate", `{"sessionId":"a b"}`, "/args/sessionId"},
	{"$sessionFork", `{}`, "/args/sessionId"},
	{"$sessionFork", `{"sessionId":"s","throughSeq":0}`, "/args/throughSeq"},
	{"$sessionFork", `{"sessionId":"s","newSessionId":"a b"}`, "/args/newSessionId"},
	{"$sessionFork", `{"sessionId":"s","newSessionId":""}`, "/args/newSessionId"},
	{"$sessionFork", `{"sessionId":"s","newTargetKey":"\n"}`, "/args/newTargetKey"},
	{"$sessionFork", `{"sessionId":"s","requestId":"é"}`, "/args/requestId"},
	{"$sessionFork", `{"sessionId":"s","parentId":"p"}`, "/args/parentId"},
	{"$children", `{}`, "/args/sessionId"},
	{"$children", `{"sessionId":"s","targetKey":"k"}`, "/args/targetKey"},
	// fields and types
	{"$ping", `{"sessionId":"s"}`, "/args/sessionId"},
	{"$ping", `[]`, "/args"},
	{"$sessionClearAll", `{"allOwners":1}`, "/args/allOwners"},
	{"$prompt", `{"targetKey":"k","Text":"x"}`, "/args/Text"},
	{"$prompt", `{"targetKey":"k","text":"x","maxIterations":1.0}`, "/args/maxIterations"},
	{"$prompt", `{"targetKey":"k","text":"x","stream":"yes"}`, "/args/stream"},
	// prompt
	{"$prompt", `{"targetKey":"k"}`, "/args/text"},
	{"$prompt", `{"targetKey":"k","text":""}`, "/args/text"},
	{"$prompt", `{"targetKey":"k","text":"x","content":[]}`, "/args/content"},
	{"$prompt", `{"targetKey":"k","content":[]}`, "/args/content"},
	{"$prompt", `{"targetKey":"k","content":[null]}`, "/args/content/0"},
	{"$prompt", `{"targetKey":"k","text":"x","requestId":""}`, "/args/requestId"},
	{"$prompt", `{"targetKey":"k","text":"x","requestId":"é"}`, "/args/requestId"},
	{"$prompt", `{"targetKey":"k","text":"x","requestId":"` + strings.Repeat("r", 129) + `"}`, "/args/requestId"},
	{"$prompt", `{"targetKey":"k","text":"x","busy":"wait"}`, "/args/busy"},
	{"$prompt", `{"targetKey":"k","text":"x","busy":""}`, "/args/busy"},
	{"$prompt", `{"targetKey":"k","text":"x","wait":"Done"}`, "/args/wait"},
	{"$prompt", `{"targetKey":"k","text":"x","maxIterations":0}`, "/args/maxIterations"},
	{"$prompt", `{"targetKey":"k","text":"x","params":{"temperature":2.5}}`, "/args/params/temperature"},
	{"$prompt", `{"targetKey":"k","text":"x","params":{"topP":-1}}`, "/args/params/topP"},
	{"$prompt", `{"targetKey":"k","text":"x","params":{"maxTokens":-1}}`, "/args/params/maxTokens"},
	{"$prompt", `{"targetKey":"k","text":"x","params":{"effort":"huge"}}`, "/args/params/effort"},
	{"$prompt", `{"targetKey":"k","text":"x","params":{"topK":5}}`, "/args/params/topK"},
	{"$prompt", `{"targetKey":"k","text":"x","answerSchema":[]}`, "/args/answerSchema"},
	{"$prompt", `{"targetKey":"k","text":"x","promptTimeoutMs":-1}`, "/args/promptTimeoutMs"},
	// content
	{"$prompt", `{"targetKey":"k","content":[{}]}`, "/args/content/0/type"},
	{"$prompt", `{"targetKey":"k","content":[{"type":"audio"}]}`, "/args/content/0/type"},
	{"$prompt", `{"targetKey":"k","content":[{"type":"text","text":"x"},{"type":"text"}]}`, "/args/content/1/text"},
	{"$prompt", `{"targetKey":"k","content":[{"type":"text","text":"x","url":"https://a/b"}]}`, "/args/content/0/url"},
	{"$prompt", `{"targetKey":"k","content":[{"type":"image","data":"AAAA"}]}`, "/args/content/0/mediaType"},
	{"$prompt", `{"targetKey":"k","content":[{"type":"image","mediaType":"text/plain","data":"AAAA"}]}`, "/args/content/0/mediaType"},
	{"$prompt", `{"targetKey":"k","content":[{"type":"image","mediaType":"image/p ng","data":"AAAA"}]}`, "/args/content/0/mediaType"},
	{"$prompt", `{"targetKey":"k","content":[{"type":"image","mediaType":"image/png"}]}`, "/args/content/0/data"},
	{"$prompt", `{"targetKey":"k","content":[{"type":"image","mediaType":"image/png","data":"AAAA","url":"https://a/b"}]}`, "/args/content/0/data"},
	{"$prompt", `{"targetKey":"k","content":[{"type":"image","mediaType":"image/png","data":"AAA"}]}`, "/args/content/0/data"},
	{"$prompt", `{"targetKey":"k","content":[{"type":"image","mediaType":"image/png","data":"AA\nAA"}]}`, "/args/content/0/data"},
	{"$prompt", `{"targetKey":"k","content":[{"type":"image","mediaType":"image/png","url":"/b"}]}`, "/args/content/0/url"},
	{"$prompt", `{"targetKey":"k","content":[{"type":"image","mediaType":"image/png","url":"file:///etc/passwd"}]}`, "/args/content/0/url"},
	{"$prompt", `{"targetKey":"k","content":[{"type":"json"}]}`, "/args/content/0/value"},
	{"$prompt", `{"targetKey":"k","content":[{"type":"json","value":null}]}`, "/args/content/0/value"},
	{"$prompt", `{"targetKey":"k","content":[{"type":"json","value":1,"text":"x"}]}`, "/args/content/0/text"},
	{"$prompt", `{"targetKey":"k","content":[{"type":"json","value":{"a":1,"a":2}}]}`, "/args/content/0/value/a"},
	// create and update
	{"$sessionCreate", `{"parentId":"p"}`, "/args/parentLocation"},
	{"$sessionCreate", `{"parentLocation":"local"}`, "/args/parentId"},
	{"$sessionCreate", `{"parentId":"p","parentLocation":"here"}`, "/args/parentLocation"},
	{"$sessionCreate", `{"parentId":"p p","parentLocation":"local"}`, "/args/parentId"},
	{"$sessionCreate", `{"labels":{"":"x"}}`, "/args/labels/"},
	{"$sessionCreate", `{"labels":{"a/b\u0000":"x"}}`, "/args/labels/a~1b\x00"},
	{"$sessionUpdate", `{"sessionId":"s"}`, "/args"},
	// list
	{"$sessionList", `{"sessionId":"s"}`, "/args/sessionId"},
	{"$sessionList", `{"status":"gone"}`, "/args/status"},
	{"$sessionList", `{"status":""}`, "/args/status"},
	{"$sessionList", `{"status":["idle","deleted"]}`, "/args/status/1"},
	{"$sessionList", `{"status":[]}`, "/args/status"},
	{"$sessionList", `{"parentId":""}`, "/args/parentId"},
	{"$sessionList", `{"limit":0}`, "/args/limit"},
	{"$sessionList", `{"limit":201}`, "/args/limit"},
	{"$sessionList", `{"cursor":""}`, "/args/cursor"},
	// delete, cancel
	{"$sessionDelete", `{"sessionId":"s","ifBusy":"wait"}`, "/args/ifBusy"},
	{"$sessionDelete", `{"sessionId":"s","children":"keep"}`, "/args/children"},
	{"$sessionDelete", `{"sessionId":"s","deleteGraceMs":60001}`, "/args/deleteGraceMs"},
	{"$sessionDelete", `{"sessionId":"s","deleteGraceMs":-1}`, "/args/deleteGraceMs"},
	{"$cancel", `{"sessionId":"s","requestId":"r","sideQuestion":true}`, "/args/sideQuestion"},
	{"$sideQuestion", `{"question":"why?"}`, "/args/sessionId"},
	{"$sideQuestion", `{"sessionId":"s"}`, "/args/question"},
	{"$sideQuestion", `{"sessionId":"s","question":""}`, "/args/question"},
	{"$sideQuestion", `{"sessionId":"s","question":" \n"}`, "/args/question"},
	// history
	{"$turns", `{"sessionId":"s","limit":201}`, "/args/limit"},
	{"$messages", `{"sessionId":"s","afterSeq":-1}`, "/args/afterSeq"},
	{"$messages", `{"sessionId":"s","beforeSeq":0}`, "/args/beforeSeq"},
	{"$messages", `{"sessionId":"s","order":"up"}`, "/args/order"},
	{"$messages", `{"sessionId":"s","limit":1001}`, "/args/limit"},
	{"$frames", `{"sessionId":"s","after":"x"}`, "/args/after"},
	{"$frames", `{"sessionId":"s","before":""}`, "/args/before"},
	{"$frames", `{"sessionId":"s","before":"c"}`, "/args/before"},
	{"$frames", `{"sessionId":"s","requestId":"\u007f"}`, "/args/requestId"},
	{"$state", `{"sessionId":"s","name":"\u0000"}`, "/args/name"},
	{"$subscribe", `{"after":"0"}`, "/args/after"},
	{"$subscribe", `{"sessionId":"s","after":"now"}`, "/args/after"},
	{"$unsubscribe", `{}`, "/args/sub"},
}

func TestInvalidRequestsNameTheField(t *testing.T) {
	for _, c := range invalid {
		t.Run(c.op+c.args, func(t *testing.T) {
			_, err := parse(`{"op":"` + c.op + `","args":` + c.args + `}`)
			requireField(t, err, sessions.CodeInvalidRequest, c.field)
		})
	}
}

func TestASchemaIsBounded(t *testing.T) {
	_, err := parse(`{"op":"$prompt","args":{"targetKey":"k","text":"x","answerSchema":{"a":"` + strings.Repeat("x", 1<<20) + `"}}}`)
	requireField(t, err, sessions.CodePayloadTooLarge, "/args/answerSchema")
}

func TestNumbersOutOfRangeNameTheirLimit(t *testing.T) {
	_, err := parse(`{"op":"$sessionList","args":{"limit":201}}`)
	require.Equal(t, map[string]any{"field": "/args/limit", "limit": "limit", "min": int64(1), "max": int64(200)}, sessions.AsError(err).Details)
	_, err = parse(`{"op":"$prompt","args":{"targetKey":"k","text":"x","maxIterations":0}}`)
	require.Equal(t, map[string]any{"field": "/args/maxIterations", "limit": "maxIterations", "min": int64(1)}, sessions.AsError(err).Details)
}

func TestSizesNameTheirLimit(t *testing.T) {
	limits := sessions.DefaultLimits()
	limits.MessageBytes, limits.ToolResultBytes, limits.ContentParts, limits.CallsPerStep = 8, 4, 2, 1
	limits.Labels, limits.LabelBytes, limits.TitleBytes, limits.SeedMessages = 2, 3, 4, 3
	text := func(s string) []sessions.Content { return sessions.Text(s) }
	user := api.SeedMessage{Role: sessions.RoleUser, Content: text("x")}
	call := func(id sessions.CallID, args string) sessions.ToolCall {
		return sessions.ToolCall{ID: id, Path: "/a", Args: json.RawMessage(args)}
	}
	assistant := func(calls ...sessions.ToolCall) api.SeedMessage {
		return api.SeedMessage{Role: sessions.RoleAssistant, ToolCalls: calls}
	}
	seed := func(messages ...api.SeedMessage) api.Args {
		return api.SessionSeedArgs{Address: byID, Messages: messages}
	}

	for name, c := range map[string]struct {
		args  api.Args
		limit string
		max   int64
		field string
	}{
		"text":         {api.PromptArgs{Address: byID, Text: "123456789"}, "messageBytes", 8, "/args/text"},
		"content":      {api.PromptArgs{Address: byID, Content: text("123456789")}, "messageBytes", 8, "/args/content"},
		"sum":          {api.PromptArgs{Address: byID, Content: append(text("12345"), text("6789")...)}, "messageBytes", 8, "/args/content"},
		"parts":        {api.PromptArgs{Address: byID, Content: append(text("1"), append(text("2"), text("3")...)...)}, "contentParts", 2, "/args/content"},
		"title":        {api.SessionCreateArgs{Title: "12345"}, "titleBytes", 4, "/args/title"},
		"new title":    {api.SessionUpdateArgs{Address: byID, Title: new("12345")}, "titleBytes", 4, "/args/title"},
		"labels":       {api.SessionCreateArgs{Labels: map[string]string{"a": "", "b": "", "c": ""}}, "labels", 2, "/args/labels"},
		"label name":   {api.SessionCreateArgs{Labels: map[string]string{"abcd": ""}}, "labelBytes", 3, "/args/labels/abcd"},
		"label value":  {api.SessionUpdateArgs{Address: byID, Labels: map[string]string{"a": "1234"}}, "labelBytes", 3, "/args/labels/a"},
		"filter":       {api.SessionListArgs{Label: map[string]string{"a": "1234"}}, "labelBytes", 3, "/args/label/a"},
		"messages":     {seed(user, user, user, user), "seedMessages", 3, "/args/messages"},
		"seed content": {seed(user, api.SeedMessage{Role: sessions.RoleUser, Content: text("123456789")}), "messageBytes", 8, "/args/messages/1/content"},
		"calls":        {seed(assistant(call("1", `{}`), call("2", `{}`))), "callsPerStep", 1, "/args/messages/0/toolCalls"},
		"call args":    {seed(assistant(call("1", `{"a":123}`))), "messageBytes", 8, "/args/messages/0/toolCalls"},
		"tool result": {seed(assistant(call("1", `{}`)), api.SeedMessage{Role: sessions.RoleTool, ToolCallID: "1", Content: text("12345")}),
			"toolResultBytes", 4, "/args/messages/1/content"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.args.Validate(limits)
			requireField(t, err, sessions.CodePayloadTooLarge, c.field)
			require.Equal(t, c.limit, sessions.AsError(err).Details["limit"])
			require.Equal(t, c.max, sessions.AsError(err).Details["max"])
		})
	}
	require.NoError(t, api.PromptArgs{Address: byID, Text: "12345678"}.Validate(limits))
	require.NoError(t, api.SessionCreateArgs{Title: "1234", Labels: map[string]string{"abc": "123", "b": ""}}.Validate(limits))
}

// TestGoCallersAreCheckedToo gives what no JSON text can.
func TestGoCallersAreCheckedToo(t *testing.T) {
	bad := "\xff"
	for field, args := range map[string]api.Args{
		"/args/text":            api.PromptArgs{Address: byID, Text: bad},
		"/args/content/0/text":  api.PromptArgs{Address: byID, Content: sessions.Text(bad)},
		"/args/content/0/value": api.PromptArgs{Address: byID, Content: []sessions.Content{{Type: "json", Value: json.RawMessage(`{`)}}},
		"/args/title":           api.SessionCreateArgs{Title: bad},
		"/args/labels/a":        api.SessionCreateArgs{Labels: map[string]string{"a": bad}},
		"/args/labels/\uFFFD":   api.SessionCreateArgs{Labels: map[string]string{bad: "a"}},
		"/args/state/a/b": api.SessionSeedArgs{Address: byID, Messages: []api.SeedMessage{{Role: "user", Content: sessions.Text("x")}},
			State: map[string]json.RawMessage{"a": json.RawMessage(`{"b":1,"b":2}`)}},
	} {
		requireField(t, args.Validate(sessions.DefaultLimits()), sessions.CodeInvalidRequest, field)
	}
}
