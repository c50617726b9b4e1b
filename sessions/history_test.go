package sessions_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func user() sessions.Message {
	return sessions.Message{Role: sessions.RoleUser, Content: sessions.Text("u")}
}

func calls(ids ...sessions.CallID) sessions.Message {
	m := sessions.Message{Role: sessions.RoleAssistant}
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, sessions.ToolCall{ID: id})
	}
	return m
}

func result(id sessions.CallID) sessions.Message {
	return sessions.Message{Role: sessions.RoleTool, ToolCallID: id}
}

type transcript = []sessions.Message

func TestOpenCalls(t *testing.T) {
	for name, c := range map[string]struct {
		history transcript
		want    []sessions.CallID
	}{
		"nothing":            {nil, nil},
		"no calls":           {transcript{user(), calls()}, nil},
		"all open":           {transcript{user(), calls("b", "a")}, []sessions.CallID{"b", "a"}},
		"one answered":       {transcript{user(), calls("a", "b", "c"), result("b")}, []sessions.CallID{"a", "c"}},
		"all answered":       {transcript{user(), calls("a", "b"), result("b"), result("a")}, nil},
		"answer followed":    {transcript{user(), calls("a"), result("a"), calls()}, nil},
		"only the last step": {transcript{calls("a"), result("a"), calls("b", "c"), result("c")}, []sessions.CallID{"b"}},
		"id used again":      {transcript{calls("a"), result("a"), user(), calls("a")}, []sessions.CallID{"a"}},
	} {
		var got []sessions.CallID
		for _, call := range sessions.OpenCalls(c.history) {
			got = append(got, call.ID)
		}
		require.Equal(t, c.want, got, name)
	}
}

func TestCheckPairing(t *testing.T) {
	for name, c := range map[string]struct {
		messages transcript
		field    string // "" for a valid transcript
	}{
		"empty":                  {nil, ""},
		"plain":                  {transcript{user(), calls(), user()}, ""},
		"paired":                 {transcript{user(), calls("a", "b"), result("a"), result("b"), calls()}, ""},
		"paired in any order":    {transcript{calls("a", "b"), result("b"), result("a")}, ""},
		"two steps":              {transcript{calls("a"), result("a"), calls("b"), result("b")}, ""},
		"result without call":    {transcript{user(), result("a")}, "/messages/1/toolCallId"},
		"result of another call": {transcript{calls("a"), result("b")}, "/messages/1/toolCallId"},
		"result twice":           {transcript{calls("a"), result("a"), result("a")}, "/messages/2/toolCallId"},
		"result without id":      {transcript{calls("a"), result("")}, "/messages/1/toolCallId"},
		"result before its call": {transcript{result("a"), calls("a")}, "/messages/0/toolCallId"},
		"no result, then user":   {transcript{calls("a"), user()}, "/messages/1"},
		"no result, then calls":  {transcript{calls("a", "b"), result("a"), calls("c")}, "/messages/2"},
		"no result at the end":   {transcript{user(), calls("a", "b"), result("b")}, "/messages"},
		"result too late":        {transcript{calls("a"), user(), result("a")}, "/messages/1"},
		"id twice in a step":     {transcript{calls("a", "a"), result("a")}, "/messages/0/toolCalls"},
		"id twice":               {transcript{calls("a"), result("a"), calls("a"), result("a")}, "/messages/2/toolCalls"},
		"empty id":               {transcript{calls("")}, "/messages/0/toolCalls"},
		"user calls":             {transcript{{Role: sessions.RoleUser, ToolCalls: []sessions.ToolCall{{ID: "a"}}}}, "/messages/0/toolCalls"},
		"system calls":           {transcript{{Role: sessions.RoleSystem, ToolCalls: []sessions.ToolCall{{ID: "a"}}}}, "/messages/0/toolCalls"},
	} {
		err := sessions.CheckPairing("/messages", c.messages)
		if c.field == "" {
			require.NoError(t, err, name)
			continue
		}
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err), name)
		require.Equal(t, c.field, sessions.AsError(err).Details["field"], name)
	}
}

func TestAPairedHistoryHasNoOpenCalls(t *testing.T) {
	paired := transcript{user(), calls("a", "b"), result("b"), result("a"), calls("c"), result("c"), calls()}
	for n := range len(paired) + 1 {
		open := sessions.OpenCalls(paired[:n])
		require.Equal(t, len(open) == 0, sessions.CheckPairing("", paired[:n]) == nil, "after %d messages", n)
	}
}

func TestCutResultsCloseAHistoryWhereverItEnds(t *testing.T) {
	whole := transcript{user(), calls("a", "b"), result("b"), result("a"), calls("c"), result("c")}
	for n := range len(whole) + 1 {
		closed := append(slices.Clone(whole[:n]), sessions.CutResults(whole[:n])...)
		require.NoError(t, sessions.CheckPairing("", closed), "after %d messages", n)
	}
	require.Equal(t, []sessions.Message{{Role: sessions.RoleTool, ToolCallID: "a", Error: sessions.ErrCallCut.Info()}},
		sessions.CutResults(whole[:3]))
}
