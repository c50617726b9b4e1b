package storetest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// testCopies spoils what was passed in and what was returned: neither is the
// store's.
func testCopies(t *testing.T, f Factory) {
	w := newWorld(t, f)
	labels := map[string]string{"team": "blue"}
	s := w.create(sessions.CreateSession{At: byKey("doc", "writer"), Labels: labels})
	labels["team"] = "spoilt"
	c := w.prompt(addressOf(s), "question")
	a := w.accept(c)
	c.Content[0].Text = "spoilt"
	a.User.Content[0].Text = "spoilt"

	raw := json.RawMessage(`{"a": 1}`)
	step := w.answer(a, "reply")
	step.Messages[0].ToolCalls = []sessions.ToolCall{{ID: "c", Path: "p", Args: raw}}
	step.Messages = append(step.Messages, sessions.Message{Seq: 3, Role: sessions.RoleTool, ToolCallID: "c",
		Content: []sessions.Content{{Type: sessions.ContentJSON, Value: raw}}})
	step.Frames = []sessions.FrameBody{sessions.CallStarted{Call: step.Messages[0].ToolCalls[0]}, sessions.CallEnded{CallID: "c", Output: raw},
		sessions.MessageAppended{Message: step.Messages[0]}}
	step.State = map[string]json.RawMessage{"x": raw}
	bad := failure(sessions.CodeAgentTimeout)
	step.End.Status, step.End.Error = sessions.TurnIsFailed, bad
	w.commit(step)
	raw[1] = '!'
	step.Messages[0].Content[0].Text, bad.Message = "spoilt", "spoilt"
	_, err := w.store.AddRefs(t.Context(), s.Fence.Incarnation, []sessions.Ref{{SessionID: "far", Location: sessions.Remote, Status: sessions.RefIdle}})
	require.NoError(t, err)

	seen := func() []any {
		refs, err := w.store.Refs(t.Context(), s.Fence.Incarnation)
		require.NoError(t, err)
		return []any{w.picture(addressOf(s)), refs}
	}
	text, err := json.Marshal(w.history(s.Fence.Incarnation))
	require.NoError(t, err)
	require.NotContains(t, string(text), "spoilt")
	require.NotContains(t, string(text), "!")
	before := seen()
	p := w.picture(addressOf(s))
	require.Equal(t, map[string]string{"team": "blue"}, p.session.Labels)
	p.session.Labels["team"] = "spoilt"
	p.session.LastError.Message, p.turns[0].Error.Message = "spoilt", "spoilt"
	p.history[0].Content[0].Text = "spoilt"
	p.history[1].ToolCalls[0].Args[1], p.history[2].Content[0].Value[1] = '!', '!'
	p.state["x"].Value[1] = '!'
	for _, frame := range p.frames {
		switch b := frame.Body.(type) {
		case sessions.MessageAppended:
			b.Message.Content[0].Text = "spoilt"
		case sessions.CallStarted:
			b.Call.Args[1] = '!'
		case sessions.CallEnded:
			b.Output[1] = '!'
		case sessions.Failed:
			b.Error.Message = "spoilt"
		}
	}
	refs, err := w.store.Refs(t.Context(), s.Fence.Incarnation)
	require.NoError(t, err)
	refs[0].Status = sessions.RefLost
	require.Equal(t, before, seen())
}
