package agentsv1

import (
	"context"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"

	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// answers returns an oracle that answers whatever it is asked.
func answers(texts ...string) *scripted.Oracle {
	return scripted.Play(scripted.Script{Rules: []scripted.Rule{{Steps: []scripted.Step{{Text: strings.Join(texts, ""), Usage: &sessions.Usage{InputTokens: 3, OutputTokens: 2}}}}}})
}

// hangs returns an oracle that never answers.
func hangs() *scripted.Oracle {
	return scripted.Play(scripted.Script{Rules: []scripted.Rule{{Steps: []scripted.Step{{Hang: true}}}}})
}

func TestCreateAndFollowATurn(t *testing.T) {
	w := newWorld(t, answers("hello there"))
	made, err := w.sessions().New(w.ctx(), body("hi"))
	require.NoError(t, err)
	require.EqualValues(t, "agent.session", made.Object)
	require.Equal(t, "default", made.Agent.Model)
	idle := w.until(made.ID, "idle")
	require.Empty(t, idle.RequiredActions)

	stream := w.sessions().Stream(w.ctx(), made.ID, openai.AgentSessionStreamParams{Input: "again"})
	var names []string
	stream.WithResultCollection()
	for stream.Next() {
		names = append(names, strings.TrimPrefix(stream.Current().Type, "agent.session."))
	}
	require.NoError(t, stream.Err())
	require.Equal(t, []string{"turn.created", "turn.item.added", "in_progress", "turn.in_progress", "turn.item.added",
		"turn.content_part.added", "turn.output_text.delta", "turn.output_text.done", "turn.content_part.done", "turn.item.done",
		"turn.completed", "idle"}, collapse(names))
	result, err := stream.FinalResult()
	require.NoError(t, err)
	require.Equal(t, "hello there", result.OutputText())
}

// collapse leaves one of each run of equal names.
func collapse(names []string) (once []string) {
	for i, name := range names {
		if i == 0 || names[i-1] != name {
			once = append(once, name)
		}
	}
	return once
}

func TestCreateStreaming(t *testing.T) {
	w := newWorld(t, answers("hello there"))
	stream := w.sessions().NewStreaming(w.ctx(), body("hi"))
	result, err := openai.BetaAgentSessionFinalResult(stream)
	require.NoError(t, err)
	require.Equal(t, "hello there", result.OutputText())

	raw := w.sessions().NewStreaming(w.ctx(), body("hi"))
	var last string
	ids := map[string]bool{}
	for raw.Next() {
		last = raw.Current().Type
		require.False(t, ids[raw.Current().EventID])
		ids[raw.Current().EventID] = true
	}
	require.NoError(t, raw.Err())
	require.Equal(t, "agent.session.idle", last)
}

func TestListsPageByThemselves(t *testing.T) {
	w := newWorld(t, answers("ok"))
	want := map[string]bool{}
	for range 7 {
		made, err := w.sessions().New(w.ctx(), body("hi"))
		require.NoError(t, err)
		want[made.ID] = true
	}
	for _, order := range []openai.BetaAgentSessionListParamsOrder{"asc", "desc"} {
		got := map[string]bool{}
		pager := w.sessions().ListAutoPaging(w.ctx(), openai.BetaAgentSessionListParams{Limit: openai.Int(2), Order: order})
		for pager.Next() {
			require.False(t, got[pager.Current().ID])
			got[pager.Current().ID] = true
		}
		require.NoError(t, pager.Err())
		require.Equal(t, want, got)
	}
	for id := range want {
		w.until(id, "idle")
		for range 2 {
			turns, err := w.sessions().Turns.List(w.ctx(), id, openai.BetaAgentSessionTurnListParams{})
			require.NoError(t, err)
			require.Len(t, turns.Data, 1)
			require.EqualValues(t, "completed", turns.Data[0].Status)
			items := w.sessions().Items.ListAutoPaging(w.ctx(), id, openai.BetaAgentSessionItemListParams{Limit: openai.Int(1), Order: "asc"})
			var roles []string
			for items.Next() {
				roles = append(roles, string(items.Current().Role))
			}
			require.NoError(t, items.Err())
			require.Equal(t, []string{"user", "assistant"}, roles)
		}
		break
	}
}

func TestCancelThenDelete(t *testing.T) {
	w := newWorld(t, hangs())
	made, err := w.sessions().New(w.ctx(), body("hi"))
	require.NoError(t, err)
	_, err = w.sessions().Delete(w.ctx(), made.ID)
	var refused *openai.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, 409, refused.StatusCode)
	require.Equal(t, "conflict_error", refused.Type)
	require.Equal(t, "session must be durably idle or failed without required actions before deletion", refused.Message)

	require.NoError(t, w.sessions().Events.New(w.ctx(), made.ID, openai.BetaAgentSessionEventNewParams{
		Events: []openai.AgentSessionInputParamUnion{{OfParamAgentSessionInputCancel: &openai.AgentSessionInputParamAgentSessionInputCancel{}}}}))
	w.until(made.ID, "idle")
	for range 2 {
		gone, err := w.sessions().Delete(w.ctx(), made.ID)
		require.NoError(t, err)
		require.True(t, gone.Deleted)
		require.Equal(t, made.ID, gone.ID)
	}
	_, err = w.sessions().Get(w.ctx(), made.ID)
	require.ErrorAs(t, err, &refused)
	require.Equal(t, 404, refused.StatusCode)
}

func TestSavedAgentsAreProfiles(t *testing.T) {
	w := newWorld(t, answers("ok"))
	agents, err := w.client.Beta.Agents.List(w.ctx(), openai.BetaAgentListParams{})
	require.NoError(t, err)
	require.Len(t, agents.Data, 1)
	require.Equal(t, "default", agents.Data[0].ID)
	_, err = w.client.Beta.Agents.Get(w.ctx(), "nobody")
	var refused *openai.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, 404, refused.StatusCode)
	_, err = w.client.Beta.Agents.Delete(w.ctx(), "default")
	require.ErrorAs(t, err, &refused)
	require.Equal(t, 400, refused.StatusCode)
}

func TestMetadata(t *testing.T) {
	w := newWorld(t, answers("ok"))
	p := body("hi")
	p.Metadata = map[string]string{"a": strings.Repeat("é", 512)}
	made, err := w.sessions().New(w.ctx(), p)
	require.NoError(t, err)
	require.Equal(t, p.Metadata, made.Metadata)
	got, err := w.sessions().Update(w.ctx(), made.ID, openai.BetaAgentSessionUpdateParams{Metadata: map[string]string{"b": "c"}})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"b": "c"}, got.Metadata)
	_, err = w.sessions().Update(w.ctx(), made.ID, openai.BetaAgentSessionUpdateParams{Metadata: map[string]string{strings.Repeat("k", 65): "c"}})
	require.Error(t, err)
}

func TestToolRoundTrip(t *testing.T) {
	script := scripted.Play(scripted.Script{Rules: []scripted.Rule{{Steps: []scripted.Step{
		{Text: "let me look", Calls: []scripted.Call{{Path: "/functions/get_weather", Args: `{"city":"Bern"}`}}}, {Text: "it rains"}}}}})
	w := newWorld(t, script)
	p := body("hi")
	p.Agent.Tools = []openai.AgentToolParamUnion{{OfParamFunction: &openai.AgentToolParamFunction{
		Name: "get_weather", Description: "Tells the weather.", Parameters: map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}}}}}
	var asked []map[string]any
	weather := map[string]openai.AgentToolHandler{"get_weather": func(_ context.Context, args map[string]any) (any, error) {
		asked = append(asked, args)
		return "rain", nil
	}}

	t.Run("by hand", func(t *testing.T) {
		made, err := w.sessions().New(w.ctx(), p)
		require.NoError(t, err)
		require.Len(t, made.Agent.Tools, 1)
		waiting := w.until(made.ID, "requires_action")
		require.Len(t, waiting.RequiredActions, 1)
		action := waiting.RequiredActions[0].AsFunctionCall()
		require.Equal(t, "get_weather", action.Name)
		require.Equal(t, map[string]any{"city": "Bern"}, action.Arguments)
		give := func(call string) error {
			return w.sessions().Events.New(w.ctx(), made.ID, openai.BetaAgentSessionEventNewParams{Events: []openai.AgentSessionInputParamUnion{{
				OfParamAgentSessionInputToolResult: &openai.AgentSessionInputParamAgentSessionInputToolResult{CallID: call, TurnID: action.TurnID,
					Success: true, Output: openai.AgentFunctionCallOutputParamUnion{OfString: openai.String("rain")}}}}})
		}
		var refused *openai.Error
		require.ErrorAs(t, give("nobody"), &refused)
		require.Equal(t, "Unknown pending tool call: nobody", refused.Message)
		require.Equal(t, "invalid_request_error", refused.Code)
		require.NoError(t, give(action.CallID))
		w.until(made.ID, "idle")
		items, err := w.sessions().Items.List(w.ctx(), made.ID, openai.BetaAgentSessionItemListParams{Order: "asc"})
		require.NoError(t, err)
		var kinds []string
		for _, item := range items.Data {
			kinds = append(kinds, item.Type)
		}
		require.Equal(t, []string{"message", "message", "function_call", "function_call_output", "message"}, kinds)
		require.Equal(t, "rain", items.Data[3].AsFunctionCallOutput().Output.OfString)
	})
	t.Run("by a creation stream's handlers", func(t *testing.T) {
		asked = nil
		p := p
		p.ToolHandlers = weather
		result, err := openai.BetaAgentSessionFinalResult(w.sessions().NewStreaming(w.ctx(), p))
		require.NoError(t, err)
		require.Equal(t, "it rains", result.OutputText())
		require.Equal(t, []map[string]any{{"city": "Bern"}}, asked)
	})
	t.Run("by a turn's handlers", func(t *testing.T) {
		made, err := w.sessions().New(w.ctx(), func() openai.BetaAgentSessionNewParams {
			p := p
			p.Input = openai.BetaAgentSessionNewParamsInputUnion{}
			return p
		}())
		require.NoError(t, err)
		asked = nil
		result, err := w.sessions().Stream(w.ctx(), made.ID, openai.AgentSessionStreamParams{Input: "again", ToolHandlers: weather}).FinalResult()
		require.NoError(t, err)
		require.Equal(t, "it rains", result.OutputText())
		require.Len(t, asked, 1)
	})
}
