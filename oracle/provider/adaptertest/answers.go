package adaptertest

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/oracle"
	"agenthost/oracle/provider"
	"agenthost/oracle/provider/providertest"
	"agenthost/sessions"
)

func testMissing(t *testing.T, a Adapter) {
	for field, c := range map[string]provider.Config{
		"/model":   {APIKey: Key},
		"/apiKey":  {Model: "m"},
		"/baseURL": {Model: "m", BaseURL: "localhost:8080"},
	} {
		_, err := a.New(c)
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
		require.Equal(t, field, sessions.AsError(err).Details["field"])
	}
	o, err := a.New(provider.Config{Model: "m", BaseURL: "http://127.0.0.1:1", Name: "mine"})
	require.NoError(t, err)
	require.Equal(t, "mine", o.Name())
}

func testKey(t *testing.T, a Adapter) {
	server := a.Server(t, a.Text("a"), a.Text("b"))
	require.NoError(t, Infer(t.Context(), a.Oracle(t, server, nil), Hi()).Err)
	keyless := a.Oracle(t, server, func(c *provider.Config) { c.APIKey = "" })
	require.NoError(t, Infer(t.Context(), keyless, Hi()).Err)
	require.Equal(t, "Bearer "+Key, server.Requests()[0].Header.Get("Authorization"))
	require.Empty(t, server.Requests()[1].Header.Values("Authorization"))
}

func testTextAsItIsSent(t *testing.T, a Adapter) {
	gate := make(chan struct{})
	reply := a.Text("Hel", "lo")
	second := slices.IndexFunc(reply.Pieces, func(p providertest.Piece) bool { return strings.Contains(p.Data, `"lo"`) })
	reply.Pieces[second].Gate = gate
	var parts []oracle.Part
	for part, err := range a.Oracle(t, a.Server(t, reply), nil).Infer(t.Context(), Hi()) {
		require.NoError(t, err)
		if len(parts) == 0 {
			close(gate) // only the first delta, already here, lets the second go
		}
		parts = append(parts, part)
	}
	require.Equal(t, []oracle.Part{
		oracle.TextDelta{Text: "Hel"}, oracle.TextDelta{Text: "lo"},
		oracle.UsageReport{Usage: sessions.Usage{InputTokens: 10, OutputTokens: 2, Calls: 1}},
		oracle.Stop{Reason: oracle.StopDone},
	}, parts)
}

func testSplitBytes(t *testing.T, a Adapter) {
	whole := ": a comment\r\n\r\n" + bytesOf(a.Text("Grüße", " 🌍"))
	var bytewise providertest.Reply
	for i := range len(whole) {
		bytewise.Pieces = append(bytewise.Pieces, providertest.Piece{Data: whole[i : i+1]})
	}
	got, _ := a.Ask(t, bytewise)
	require.NoError(t, got.Err)
	require.Equal(t, "Grüße 🌍", got.Text)
}

func bytesOf(r providertest.Reply) (whole string) {
	for _, p := range r.Pieces {
		whole += p.Data
	}
	return whole
}

// Malformed arguments and unknown tools are for the host to judge.
func testCallsAsTheyCame(t *testing.T, a Adapter) {
	for _, calls := range [][]providertest.Call{
		{{ID: "a", Name: "builtin__time", Args: `{"zone":"UTC"}`}, {ID: "b", Name: "builtin__echo", Args: `{"x":[1,2]}`}},
		{{ID: "1", Name: "no such tool", Args: `{"a":`}},
	} {
		got, _ := a.Ask(t, a.Calls(calls...))
		require.NoError(t, got.Err)
		require.Equal(t, oracle.StopCalls, got.Stop)
		require.Len(t, got.Calls, len(calls))
		for i, c := range calls {
			require.Equal(t, oracle.ToolCall{ID: sessions.CallID(c.ID), Function: c.Name, Args: c.Args}, got.Calls[i])
		}
	}
}

func testCallIDs(t *testing.T, a Adapter) {
	server := a.Server(t, a.Calls(
		providertest.Call{ID: "old", Name: "x", Args: "{}"}, providertest.Call{Name: "x", Args: "{}"},
		providertest.Call{ID: "same", Name: "x", Args: "{}"}, providertest.Call{ID: "same", Name: "x", Args: "{}"},
	))
	history := []sessions.Message{
		{Role: sessions.RoleUser, Content: sessions.Text("hi")},
		{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "old", Path: "/x"}, {ID: "call-5-2", Path: "/x"}}},
		{Role: sessions.RoleTool, ToolCallID: "old"},
		{Role: sessions.RoleTool, ToolCallID: "call-5-2"},
	}
	got := Infer(t.Context(), a.Oracle(t, server, nil), oracle.Request{Messages: history})
	require.NoError(t, got.Err)
	require.Len(t, got.Calls, 4)
	ids := map[sessions.CallID]bool{"old": true, "call-5-2": true}
	for _, c := range got.Calls {
		require.NotEmpty(t, c.ID)
		require.False(t, ids[c.ID], "%s", c.ID)
		ids[c.ID] = true
	}
	require.Equal(t, sessions.CallID("same"), got.Calls[2].ID)
}
