package sessions_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

var (
	sampleCall  = sessions.ToolCall{ID: "c1", Path: "/orders/lookup", Args: json.RawMessage(`{"id":7}`)}
	sampleError = &sessions.ErrorInfo{Code: sessions.CodeOverloaded, Message: "Full.", Retryable: true, Details: map[string]any{"limit": "busyTurns"}}
)

// sampleBodies has a body of each type, every field set, and its wire form.
var sampleBodies = []struct {
	body sessions.FrameBody
	wire string
}{
	{sessions.Accepted{QueuedMs: 5}, `{"type":"accepted","queuedMs":5}`},
	{sessions.Started{}, `{"type":"started"}`},
	{sessions.TextPart{Step: 1, Attempt: 2, Offset: 3, Text: "hé"}, `{"type":"text","step":1,"attempt":2,"offset":3,"text":"hé"}`},
	{sessions.MessageAppended{Message: sessions.Message{
		Seq: 4, Role: sessions.RoleAssistant, Content: sessions.Text("hi"), ToolCalls: []sessions.ToolCall{sampleCall},
		TurnID: "t1", CreatedAt: 1_700_000_000_000, Interrupted: true,
	}}, `{"type":"message","message":{"seq":4,"role":"assistant","content":[{"type":"text","text":"hi"}],` +
		`"toolCalls":[{"id":"c1","path":"/orders/lookup","args":{"id":7}}],"turnId":"t1","createdAt":"2023-11-14T22:13:20.000Z","interrupted":true}}`},
	{sessions.CallStarted{Call: sampleCall}, `{"type":"tool_call","call":{"id":"c1","path":"/orders/lookup","args":{"id":7}}}`},
	{sessions.CallEnded{CallID: "c1", Output: json.RawMessage(`[1]`), Error: sampleError, DurationMs: 9},
		`{"type":"tool_result","callId":"c1","output":[1],"durationMs":9,"error":{"code":"OVERLOADED","message":"Full.","retryable":true,"details":{"limit":"busyTurns"}}}`},
	{sessions.Summarised{ThroughSeq: 7, Attempt: 2, Text: "They met."}, `{"type":"summary","throughSeq":7,"attempt":2,"text":"They met."}`},
	{sessions.Waiting{Pending: []sessions.Pending{{CallID: "c", Kind: sessions.PendingApproval, Path: "/a", Args: json.RawMessage(`{}`), Since: 1_700_000_000_000}}},
		`{"type":"waiting","pending":[{"callId":"c","kind":"approval","path":"/a","args":{},"since":"2023-11-14T22:13:20.000Z"}]}`},
	{sessions.Answered{CallID: "c"}, `{"type":"answered","callId":"c"}`},
	{sessions.UsageReported{Usage: sessions.Usage{InputTokens: 1, OutputTokens: 2, CachedTokens: 3, Calls: 4}},
		`{"type":"usage","usage":{"inputTokens":1,"outputTokens":2,"cachedTokens":3,"calls":4}}`},
	{sessions.ChildChanged{SessionID: "s2", Location: sessions.Remote, Status: sessions.RefLost},
		`{"type":"child","sessionId":"s2","location":"remote","status":"lost"}`},
	{sessions.Completed{}, `{"type":"completed"}`},
	{sessions.Failed{Error: sampleError}, `{"type":"failed","error":{"code":"OVERLOADED","message":"Full.","retryable":true,"details":{"limit":"busyTurns"}}}`},
	{sessions.Cancelled{}, `{"type":"cancelled"}`},
	{sessions.Interrupted{Error: sampleError}, `{"type":"interrupted","error":{"code":"OVERLOADED","message":"Full.","retryable":true,"details":{"limit":"busyTurns"}}}`},
	{sessions.Closed{}, `{"type":"session_closed"}`},
	{sessions.Delta{Step: 1, Attempt: 1, Offset: 0, Text: "h"}, `{"type":"delta","step":1,"attempt":1,"offset":0,"text":"h"}`},
	{sessions.SessionChanged{Change: sessions.SessionUpdated, SessionID: "s", Status: sessions.StatusIdle},
		`{"type":"session","change":"updated","sessionId":"s","status":"idle"}`},
	{sessions.Gap{From: 2, To: 9}, `{"type":"gap","from":2,"to":9}`},
}

func TestSamplesCoverEveryFrameType(t *testing.T) {
	var types []sessions.FrameType
	var bodies []string
	for _, s := range sampleBodies {
		types = append(types, sessions.Frame{Body: s.body}.Type())
		bodies = append(bodies, reflect.TypeOf(s.body).Name())
	}
	require.ElementsMatch(t, typed[sessions.FrameType](t, "frame.go", "FrameType"), types)
	require.ElementsMatch(t, methodsOf(t, "frame.go", "frameType"), bodies)
}

func TestFrameRoundTrip(t *testing.T) {
	for _, s := range sampleBodies {
		// The bare frame shows the body alone.
		bare, err := json.Marshal(sessions.Frame{Body: s.body})
		require.NoError(t, err)
		require.JSONEq(t, s.wire, string(bare))
		body, err := sessions.DecodeFrameBody(sessions.Frame{Body: s.body}.Type(), bare)
		require.NoError(t, err)
		require.Equal(t, s.body, body)

		full := sessions.Frame{Seq: 3, Cursor: sessions.CursorAt(2, 3), TurnID: "t1", RequestID: "r1", At: 1_700_000_000_123, Body: s.body}
		wire, err := json.Marshal(full)
		require.NoError(t, err)
		var back sessions.Frame
		require.NoError(t, json.Unmarshal(wire, &back), "%s", wire)
		require.Equal(t, full, back)
	}
}

func TestFrameHead(t *testing.T) {
	frame := sessions.Frame{Seq: 3, Cursor: "cAgM", TurnID: "t1", RequestID: "r1", At: 1_700_000_000_123, Body: sessions.Started{}}
	wire, err := json.Marshal(frame)
	require.NoError(t, err)
	require.Equal(t, `{"seq":3,"cursor":"cAgM","turnId":"t1","requestId":"r1","at":"2023-11-14T22:13:20.123Z","type":"started"}`, string(wire))
}

func TestFrameDecodingErrors(t *testing.T) {
	for _, bad := range []string{
		`{}`, `{"type":""}`, `{"type":"nonsense"}`, `{"type":7}`, `[]`, `{"type":"text","offset":"x"}`,
		`{"type":"started","at":"yesterday"}`, `{"type":"message","message":7}`,
	} {
		before := sessions.Frame{Seq: 9, Body: sessions.Completed{}}
		frame := before
		require.Error(t, json.Unmarshal([]byte(bad), &frame), bad)
		require.Equal(t, before, frame, "an error changes nothing")
	}
	var frame sessions.Frame
	require.NoError(t, json.Unmarshal([]byte(`{"type":"started","later":true}`), &frame), "fields of a later version are ignored")
}

func TestFrameBodyOfNoBytes(t *testing.T) {
	for _, s := range sampleBodies {
		body, err := sessions.DecodeFrameBody(sessions.Frame{Body: s.body}.Type(), nil)
		require.NoError(t, err)
		require.IsType(t, s.body, body)
	}
}

func TestTerminalFrames(t *testing.T) {
	for _, s := range sampleBodies {
		frame := sessions.Frame{Body: s.body}.Type()
		want := map[sessions.FrameType]bool{"completed": true, "failed": true, "cancelled": true, "interrupted": true}[frame]
		require.Equal(t, want, frame.Terminal(), frame)
	}
}

func FuzzFrame(f *testing.F) {
	for _, s := range sampleBodies {
		f.Add([]byte(s.wire))
	}
	f.Add([]byte(`{"type":"started","at":"9999-12-31T23:59:59-01:00"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var frame sessions.Frame
		if json.Unmarshal(data, &frame) != nil {
			return
		}
		first, err := json.Marshal(frame)
		require.NoError(t, err)
		var again sessions.Frame
		require.NoError(t, json.Unmarshal(first, &again))
		second, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
	})
}
