package api_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/sessions"
)

func written(t *testing.T, r api.Reply) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, api.WriteReply(&b, r))
	return b.String()
}

func TestReplies(t *testing.T) {
	ok := api.ResultReply(new("7"), map[string]string{"a": "<é>"})
	require.Equal(t, `{"id":"7","ok":true,"result":{"a":"<é>"}}`+"\n", written(t, ok))
	require.Equal(t, 200, ok.HTTPStatus())
	require.NoError(t, ok.Err())

	require.Equal(t, `{"id":null,"ok":true,"result":{}}`+"\n", written(t, api.ResultReply(nil, api.UnsubscribeResult{})))

	busy := api.ErrorReply(new("7"), sessions.Errorf(sessions.CodeAgentBusy, "Busy.").With("turnId", "t"))
	require.Equal(t, `{"id":"7","ok":false,"error":{"code":"AGENT_BUSY","message":"Busy.","retryable":true,"details":{"turnId":"t"}}}`+"\n", written(t, busy))
	require.Equal(t, 409, busy.HTTPStatus())
	require.Equal(t, sessions.CodeAgentBusy, sessions.CodeOf(busy.Err()))
}

func TestFaultsShowNoText(t *testing.T) {
	for name, r := range map[string]api.Reply{
		"no code":   api.ErrorReply(nil, errors.New("secret of the driver")),
		"no result": api.ResultReply(nil, func() {}),
	} {
		require.False(t, r.OK, name)
		require.Equal(t, sessions.CodeInternal, r.Error.Code, name)
		require.NotContains(t, written(t, r), "secret", name)
		require.Equal(t, 500, r.HTTPStatus(), name)
	}
	require.Equal(t, sessions.CodeInternal, sessions.CodeOf(api.Reply{}.Err()))
	require.Equal(t, 500, api.Reply{}.HTTPStatus())
}

// TestHTTPStatus repeats the protocol's table.
func TestHTTPStatus(t *testing.T) {
	for status, codes := range map[int]string{
		400: "INVALID_REQUEST UNKNOWN_OP UNKNOWN_PROFILE", 401: "UNAUTHENTICATED", 403: "FORBIDDEN",
		404: "NOT_FOUND SESSION_NOT_FOUND", 409: "AGENT_BUSY CONFLICT REQUEST_CONFLICT SESSION_CLOSED", 410: "SESSION_DELETED",
		413: "PAYLOAD_TOO_LARGE", 422: "MAX_ITERATIONS TOOL_SCOPE_VIOLATION TOOL_INVOKE_FAILED", 429: "OVERLOADED",
		499: "CANCELLED", 500: "INTERNAL SESSION_DAMAGED", 501: "NOT_SUPPORTED", 502: "LLM_API_FAILURE SUBAGENT_LOST",
		503: "STORE_UNAVAILABLE HOST_STOPPING HOST_RESTARTED CRASH_LOOP", 504: "AGENT_TIMEOUT",
	} {
		for code := range strings.FieldsSeq(codes) {
			require.Equal(t, status, api.HTTPStatus(sessions.Code(code)), code)
		}
	}
}

func TestEventsOnTheWire(t *testing.T) {
	frame := sessions.Frame{Seq: 1, Cursor: "c", TurnID: "t", RequestID: "r", Body: sessions.Started{}}
	for want, event := range map[string]any{
		`{"id":"7","frame":`:                                api.FrameEvent{ID: new("7"), Frame: frame},
		`{"sub":"s1","frame":`:                              api.SubEvent{Sub: "s1", Frame: frame},
		`{"sub":"s1","end":{"reason":"slow","cursor":"c"}}`: api.EndEvent{Sub: "s1", End: (&api.EndError{Reason: api.EndSlow, Cursor: "c"}).End()},
	} {
		text, err := json.Marshal(event)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(text), want), "%s", text)
	}
}

func TestPromptResultHasTheFieldsOfItsStatus(t *testing.T) {
	base := api.PromptResult{SessionID: "s", RequestID: "r", TurnID: "t"}
	accepted, completed, waiting := base, base, base
	accepted.Status, accepted.Cursor = api.PromptAccepted, "c"
	completed.Status, completed.Iterations, completed.Duplicate = api.PromptCompleted, 2, true
	completed.Message = &sessions.Message{Seq: 4, Role: sessions.RoleAssistant, Content: sessions.Text("x")}
	waiting.Status, waiting.Pending = api.PromptWaiting, []sessions.Pending{{CallID: "c", Kind: sessions.PendingApproval, Path: "/a", Args: json.RawMessage(`{}`), Since: 1}}
	usage := `"usage":{"inputTokens":0,"outputTokens":0,"cachedTokens":0,"calls":0}`
	for want, result := range map[string]api.PromptResult{
		`{"sessionId":"s","requestId":"r","turnId":"t","status":"accepted","duplicate":false,"cursor":"c"}`: accepted,
		`{"sessionId":"s","requestId":"r","turnId":"t","status":"completed","duplicate":true,"iterations":2,` + usage +
			`,"message":{"seq":4,"role":"assistant","content":[{"type":"text","text":"x"}]}}`: completed,
		`{"sessionId":"s","requestId":"r","turnId":"t","status":"waiting","duplicate":false,"iterations":0,` + usage +
			`,"pending":[{"callId":"c","kind":"approval","path":"/a","args":{},"since":"1970-01-01T00:00:00.001Z"}]}`: waiting,
	} {
		text, err := json.Marshal(result)
		require.NoError(t, err)
		require.JSONEq(t, want, string(text))
		var back api.PromptResult
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, result, back)
	}
}

func TestAReplyIsWrittenAsItIsEncoded(t *testing.T) {
	id := "a \"quoted\" id"
	for _, reply := range []api.Reply{
		api.ResultReply(&id, api.PingResult{Time: 1}),
		api.ResultReply(nil, map[string]string{"text": "<&>"}),
		api.ErrorReply(&id, sessions.Errorf(sessions.CodeNotFound, "No.")),
		{OK: true},
	} {
		encoded, err := api.Encode(reply)
		require.NoError(t, err)
		var b strings.Builder
		require.NoError(t, api.WriteReply(&b, reply))
		require.Equal(t, string(encoded)+"\n", b.String())
	}
}
