package api_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/sessions"
)

func jsonPart(value string) []sessions.Content {
	return []sessions.Content{{Type: sessions.ContentJSON, Value: json.RawMessage(value)}}
}

func TestEqualPromptsHaveEqualFingerprints(t *testing.T) {
	first := api.PromptArgs{Address: api.Address{TargetKey: "k"}, Text: "x"}
	for name, same := range map[string]api.PromptArgs{
		"default profile": {Address: api.Address{TargetKey: "k", ProfileKey: "default"}, Text: "x"},
		"own owner":       {Address: api.Address{TargetKey: "k", Owner: "local"}, Text: "x"},
		"content":         {Address: api.Address{TargetKey: "k"}, Content: sessions.Text("x")},
		"params":          {Address: api.Address{TargetKey: "k"}, Text: "x", Params: &sessions.Params{}},
		"options": {Address: api.Address{TargetKey: "k"}, Text: "x", RequestID: "r", Busy: sessions.BusyQueue, Wait: api.WaitAccepted,
			Stream: true, MaxIterations: new(3), PromptTimeoutMs: new(int64(9))},
	} {
		require.Equal(t, first.Fingerprint(), same.Fingerprint(), name)
	}
	require.Equal(t,
		api.PromptArgs{Address: byID, Content: jsonPart(`{"b":1.0,"a":["<",null]}`)}.Fingerprint(),
		api.PromptArgs{Address: byID, Content: jsonPart(` { "a" : ["\u003c", null], "b":1.0 }`)}.Fingerprint())
}

func TestOtherRequestsHaveOtherFingerprints(t *testing.T) {
	key := api.Address{TargetKey: "k"}
	message := func(m api.SeedMessage) api.SessionSeedArgs {
		return api.SessionSeedArgs{Address: key, Messages: []api.SeedMessage{m}}
	}
	seen := map[[32]byte]string{}
	for i, args := range []interface{ Fingerprint() [32]byte }{
		api.PromptArgs{Address: key, Text: "x"},
		api.PromptArgs{Address: key, Text: "y"},
		api.PromptArgs{Address: key, Text: "x", Params: &sessions.Params{MaxTokens: 1}},
		api.PromptArgs{Address: key, Text: "x", Params: &sessions.Params{Temperature: new(0.0)}},
		api.PromptArgs{Address: key, Text: "x", AnswerSchema: json.RawMessage(`{}`)},
		api.PromptArgs{Address: api.Address{SessionID: "k"}, Text: "x"},
		api.PromptArgs{Address: api.Address{TargetKey: "k", ProfileKey: "p"}, Text: "x"},
		api.PromptArgs{Address: api.Address{TargetKey: "kp"}, Text: "x"},
		api.PromptArgs{Address: key, Content: append(sessions.Text("x"), sessions.Text("")...)},
		api.PromptArgs{Address: key, Content: append(sessions.Text(""), sessions.Text("x")...)},
		api.PromptArgs{Address: key, Content: jsonPart(`"x"`)},
		api.PromptArgs{Address: key, Content: jsonPart(`1`)},
		api.PromptArgs{Address: key, Content: jsonPart(`1.0`)},
		api.PromptArgs{Address: key, Content: []sessions.Content{{Type: "image", MediaType: "image/png", Data: "AAAA"}}},
		api.PromptArgs{Address: key, Content: []sessions.Content{{Type: "image", MediaType: "image/png", URL: "AAAA"}}},
		api.SessionCreateArgs{},
		api.SessionCreateArgs{Address: key},
		api.SessionCreateArgs{Address: key, Title: "t"},
		api.SessionCreateArgs{Address: key, Labels: map[string]string{"t": ""}},
		api.SessionCreateArgs{Address: key, Labels: map[string]string{"": "t"}},
		api.SessionCreateArgs{Address: key, ParentID: "p", ParentLocation: sessions.Local},
		api.SessionCreateArgs{Address: key, ParentID: "p", ParentLocation: sessions.Remote},
		api.SessionSeedArgs{Address: key},
		api.SessionSeedArgs{Address: key, State: map[string]json.RawMessage{"a": json.RawMessage(`1`)}},
		api.SessionSeedArgs{Address: key, State: map[string]json.RawMessage{"a": json.RawMessage(`2`)}},
		api.SessionForkArgs{Address: key},
		api.SessionForkArgs{Address: key, ThroughSeq: new(int64(1))},
		api.SessionForkArgs{Address: key, NewSessionID: "x"},
		api.SessionForkArgs{Address: key, NewTargetKey: "x"},
		message(api.SeedMessage{Role: "user", Content: sessions.Text("x")}),
		message(api.SeedMessage{Role: "assistant", Content: sessions.Text("x")}),
		message(api.SeedMessage{Role: "assistant", Content: sessions.Text("x"), Interrupted: true}),
		message(api.SeedMessage{Role: "assistant", ToolCalls: []sessions.ToolCall{{ID: "1", Path: "/a", Args: json.RawMessage(`{}`)}}}),
		message(api.SeedMessage{Role: "assistant", ToolCalls: []sessions.ToolCall{{ID: "1", Path: "/b", Args: json.RawMessage(`{}`)}}}),
		message(api.SeedMessage{Role: "tool", ToolCallID: "1", Content: sessions.Text("x")}),
		message(api.SeedMessage{Role: "tool", ToolCallID: "1", Error: &sessions.ErrorInfo{Code: "INTERNAL"}}),
		message(api.SeedMessage{Role: "tool", ToolCallID: "1", Error: &sessions.ErrorInfo{Code: "CANCELLED"}}),
	} {
		name := fmt.Sprintf("%d: %+v", i, args)
		require.Empty(t, seen[args.Fingerprint()], name)
		seen[args.Fingerprint()] = name
		again := args.Fingerprint()
		require.Equal(t, again, args.Fingerprint(), name)
	}
}

func TestRequestIDIsNoPartOfAFingerprint(t *testing.T) {
	require.Equal(t, api.SessionCreateArgs{Title: "t"}.Fingerprint(), api.SessionCreateArgs{Title: "t", RequestID: "r"}.Fingerprint())
	require.Equal(t, api.SessionSeedArgs{Address: byID}.Fingerprint(), api.SessionSeedArgs{Address: byID, RequestID: "r"}.Fingerprint())
}

// TestFingerprintsOutliveAVersion pins the form: stored claims hold it.
func TestFingerprintsOutliveAVersion(t *testing.T) {
	got := api.PromptArgs{Address: api.Address{TargetKey: "k"}, Text: "x"}.Fingerprint()
	require.Equal(t, "f5e5a9085c370c9e82148d0995e1e467ba1fa925d7dc8ff6bbeaf27fbd8da2d8", fmt.Sprintf("%x", got))
}
