package api_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/sessions"
)

var (
	byID  = api.Address{SessionID: "s-1"}
	byKey = api.Address{TargetKey: "order/1", ProfileKey: "clerk"}
)

// TestArgsAgreeInBothDirections decodes each text and encodes it again, as the
// Go client does.
func TestArgsAgreeInBothDirections(t *testing.T) {
	for _, c := range []struct {
		op   api.Op
		text string
		want api.Args
	}{
		{api.OpPing, `{}`, &api.PingArgs{}},
		{api.OpHostInfo, `{}`, &api.HostInfoArgs{}},
		{api.OpSessionCreate, `{}`, &api.SessionCreateArgs{}},
		{api.OpSessionCreate, `{"sessionId":"s-1","profileKey":"clerk"}`,
			&api.SessionCreateArgs{Address: api.Address{SessionID: "s-1", ProfileKey: "clerk"}}},
		{api.OpSessionCreate, `{"sessionId":"s-1","targetKey":"k","title":"T","labels":{"a":""},"parentId":"p","parentLocation":"remote","requestId":"r 1"}`,
			&api.SessionCreateArgs{Address: api.Address{SessionID: "s-1", TargetKey: "k"}, Title: "T", Labels: map[string]string{"a": ""},
				ParentID: "p", ParentLocation: sessions.Remote, RequestID: "r 1"}},
		{api.OpSessionGet, `{"targetKey":"order/1","profileKey":"clerk"}`, &api.SessionGetArgs{Address: byKey}},
		{api.OpSessionList, `{}`, &api.SessionListArgs{}},
		{api.OpSessionList, `{"profileKey":"clerk","status":["idle","closed"],"parentId":null,"label":{"a":"b"},"limit":200,"cursor":"x"}`,
			&api.SessionListArgs{ProfileKey: "clerk", Status: api.OneOrMany[sessions.Status]{"idle", "closed"},
				ParentID: api.Null[sessions.SessionID](), Label: map[string]string{"a": "b"}, Limit: new(200), Cursor: "x"}},
		{api.OpSessionList, `{"parentId":"p"}`, &api.SessionListArgs{ParentID: api.Of[sessions.SessionID]("p")}},
		{api.OpSessionUpdate, `{"sessionId":"s-1","title":"","labels":{}}`,
			&api.SessionUpdateArgs{Address: byID, Title: new(""), Labels: map[string]string{}}},
		{api.OpSessionDelete, `{"sessionId":"s-1","ifBusy":"reject","children":"detach","deleteGraceMs":0}`,
			&api.SessionDeleteArgs{Address: byID, IfBusy: api.IfBusyReject, Children: sessions.Detach, DeleteGraceMs: new(int64(0))}},
		{api.OpSessionFork, `{"targetKey":"order/1","profileKey":"clerk","throughSeq":1,"newSessionId":"s-2","newTargetKey":"k2","requestId":"r"}`,
			&api.SessionForkArgs{Address: byKey, ThroughSeq: new(int64(1)), NewSessionID: "s-2", NewTargetKey: "k2", RequestID: "r"}},
		{api.OpChildren, `{"sessionId":"s-1"}`, &api.ChildrenArgs{Address: byID}},
		{api.OpSessionClearAll, `{"allOwners":true}`, &api.SessionClearAllArgs{AllOwners: true}},
		{api.OpPrompt, `{"sessionId":"s-1","text":"x","params":{"temperature":0,"topP":1,"maxTokens":5,"seed":-1,"effort":"low"},"answerSchema":{"type":"object"}}`,
			&api.PromptArgs{Address: byID, Text: "x", Params: &sessions.Params{Temperature: new(0.0), TopP: new(1.0), MaxTokens: 5, Seed: new(int64(-1)), Effort: "low"},
				AnswerSchema: json.RawMessage(`{"type":"object"}`)}},
		{api.OpPrompt, `{"sessionId":"s-1","text":"a\u0000b","requestId":"r","busy":"steer","wait":"pending","stream":true,"maxIterations":1,"promptTimeoutMs":9223372036854775807}`,
			&api.PromptArgs{Address: byID, Text: "a\x00b", RequestID: "r", Busy: sessions.BusySteer, Wait: api.WaitPending,
				Stream: true, MaxIterations: new(1), PromptTimeoutMs: new(int64(math.MaxInt64))}},
		{api.OpPrompt, `{"targetKey":"order/1","profileKey":"clerk","content":[{"type":"text","text":"x"},{"type":"image","mediaType":"image/svg+xml","data":"AAAA"},{"type":"json","value":{"a":[1.0,null]}}]}`,
			&api.PromptArgs{Address: byKey, Content: []sessions.Content{{Type: "text", Text: "x"},
				{Type: "image", MediaType: "image/svg+xml", Data: "AAAA"}, {Type: "json", Value: json.RawMessage(`{"a":[1.0,null]}`)}}}},
		{api.OpCancel, `{"sessionId":"s-1","requestId":"r"}`, &api.CancelArgs{Address: byID, RequestID: "r"}},
		{api.OpCancel, `{"sessionId":"s-1","sideQuestion":true}`, &api.CancelArgs{Address: byID, SideQuestion: true}},
		{api.OpAnswer, `{"sessionId":"s-1","callId":"call_1","output":{"a":[1.0]}}`,
			&api.AnswerArgs{Address: byID, CallID: "call_1", Output: json.RawMessage(`{"a":[1.0]}`)}},
		{api.OpAnswer, `{"sessionId":"s-1","callId":"call_1","error":""}`, &api.AnswerArgs{Address: byID, CallID: "call_1", Error: new("")}},
		{api.OpAnswer, `{"sessionId":"s-1","callId":"call_1","approve":false}`, &api.AnswerArgs{Address: byID, CallID: "call_1", Approve: new(false)}},
		{api.OpSideQuestion, `{"targetKey":"order/1","profileKey":"clerk","question":"why?"}`, &api.SideQuestionArgs{Address: byKey, Question: "why?"}},
		{api.OpTurns, `{"sessionId":"s-1","limit":1,"cursor":"x"}`, &api.TurnsArgs{Address: byID, Limit: new(1), Cursor: "x"}},
		{api.OpMessages, `{"sessionId":"s-1","afterSeq":0,"beforeSeq":9,"order":"desc","limit":1000}`,
			&api.MessagesArgs{Address: byID, AfterSeq: new(int64(0)), BeforeSeq: new(int64(9)), Order: api.Descending, Limit: new(1000)}},
		{api.OpFrames, `{"sessionId":"s-1","requestId":"r","after":"0","before":"` + string(sessions.CursorAt(3, 7)) + `","order":"asc","limit":20}`,
			&api.FramesArgs{Address: byID, RequestID: "r", After: "0", Before: sessions.CursorAt(3, 7), Order: api.Ascending, Limit: new(20)}},
		{api.OpState, `{"sessionId":"s-1","name":"repl"}`, &api.StateArgs{Address: byID, Name: "repl"}},
		{api.OpSubscribe, `{}`, &api.SubscribeArgs{}},
		{api.OpSubscribe, `{"sessionId":"s-1","after":"0"}`, &api.SubscribeArgs{Address: byID, After: "0"}},
		{api.OpUnsubscribe, `{"sub":"s1"}`, &api.UnsubscribeArgs{Sub: "s1"}},
		{api.OpUsage, `{"sessionId":"s-1"}`, &api.UsageArgs{Address: byID}},
		{api.OpUsage, `{"by":"owner"}`, &api.UsageArgs{By: sessions.UsageByOwner}},
		{api.OpPurge, `{}`, &api.PurgeArgs{}},
		{api.OpPurge, `{"dryRun":true}`, &api.PurgeArgs{DryRun: true}},
	} {
		t.Run(string(c.op), func(t *testing.T) {
			got, err := parse(`{"op":"` + string(c.op) + `","args":` + c.text + `}`)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			text, err := json.Marshal(got)
			require.NoError(t, err)
			require.JSONEq(t, c.text, string(text))
		})
	}
}

func TestDefaults(t *testing.T) {
	require.Equal(t, 50, api.SessionListArgs{}.PageLimit())
	require.Equal(t, 7, api.SessionListArgs{Limit: new(7)}.PageLimit())
	require.Equal(t, 50, api.TurnsArgs{}.PageLimit())
	require.Equal(t, 100, api.FramesArgs{}.PageLimit())
	require.Equal(t, sessions.MessageQuery{Limit: 100}, api.MessagesArgs{}.Query())
	require.Equal(t, sessions.MessageQuery{AfterSeq: 3, BeforeSeq: 8, Descending: true, Limit: 2},
		api.MessagesArgs{AfterSeq: new(int64(3)), BeforeSeq: new(int64(8)), Order: api.Descending, Limit: new(2)}.Query())
	require.Equal(t, int64(5_000), api.SessionDeleteArgs{}.GraceMs())
	require.Zero(t, api.SessionDeleteArgs{DeleteGraceMs: new(int64(0))}.GraceMs())
	require.Zero(t, api.SessionForkArgs{}.Through())
	require.Equal(t, int64(7), api.SessionForkArgs{ThroughSeq: new(int64(7))}.Through())
	require.Equal(t, api.WaitDone, api.PromptArgs{}.WaitFor())
	require.Equal(t, api.WaitAccepted, api.PromptArgs{Wait: api.WaitAccepted}.WaitFor())
	require.Equal(t, sessions.Text("x"), api.PromptArgs{Text: "x"}.Parts())

	require.Equal(t, sessions.UsageBySession, api.UsageArgs{}.Scope())
	require.Equal(t, sessions.UsageByTree, api.UsageArgs{By: sessions.UsageByTree}.Scope())
	require.Nil(t, api.SessionListArgs{}.Parent())
	require.Equal(t, new(sessions.SessionID("")), api.SessionListArgs{ParentID: api.Null[sessions.SessionID]()}.Parent())
	require.Equal(t, new(sessions.SessionID("p")), api.SessionListArgs{ParentID: api.Of[sessions.SessionID]("p")}.Parent())

	require.Equal(t, sessions.Address{ID: "s-1"}, byID.At())
	require.Equal(t, sessions.Address{Key: sessions.Key{Target: "k", Profile: "default"}}, api.Address{TargetKey: "k"}.At())
	require.Equal(t, sessions.Address{ID: "s", Key: sessions.Key{Target: "k", Profile: "p"}},
		api.Address{SessionID: "s", TargetKey: "k", ProfileKey: "p"}.At())
}
