package agentsv1

import (
	"context"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"agenthost/oracle/scripted"
)

// lookingWhere is a session with a tool of its clients that must be told where to look.
func lookingWhere(input string) openai.BetaAgentSessionNewParams {
	p := asking(input)
	p.Agent.Tools[0].OfParamFunction.Parameters = map[string]any{"type": "object", "required": []string{"where"}}
	return p
}

// A handler of the SDK is called for each call that waits for it, and for no other.
func TestHandlersAreCalledForCallsThatWait(t *testing.T) {
	look := func(args string) scripted.Call { return calling("/functions/look", args) }
	for name, c := range map[string]struct {
		calls   []scripted.Call
		handled int
		outputs int
	}{
		"arguments that do not fit":           {[]scripted.Call{look(`{}`)}, 0, 1},
		"some of which do not fit":            {[]scripted.Call{look(`{}`), look(`{"where":"x"}`), look(`{}`)}, 1, 3},
		"two of them":                         {[]scripted.Call{look(`{"where":"x"}`), look(`{"where":"y"}`)}, 2, 2},
		"beside one that the host can run":    {[]scripted.Call{calling("/builtin/echo", `{"text":"x"}`), look(`{"where":"x"}`)}, 1, 1},
		"arguments that are no object at all": {[]scripted.Call{look(`[`)}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, playing(scripted.Step{Calls: c.calls}, scripted.Step{Text: "it rains"}))
			made, err := w.sessions().New(w.ctx(), lookingWhere(""))
			require.NoError(t, err)
			handled := 0
			handlers := map[string]openai.AgentToolHandler{"look": func(context.Context, map[string]any) (any, error) {
				handled++
				return "seen", nil
			}}
			live := w.attach(made.ID, "")
			result, err := w.sessions().Stream(w.ctx(), made.ID, openai.AgentSessionStreamParams{Input: "go", ToolHandlers: handlers}).FinalResult()
			require.NoError(t, err)
			require.Equal(t, "it rains", result.OutputText())
			require.Equal(t, c.handled, handled)
			told := live.until("agent.session.idle")
			w.requireCallsToldAsListed(made.ID, told, c.outputs)

			// Whoever replays all that has a handler that is not called.
			again := w.sessions().Stream(w.ctx(), made.ID, openai.AgentSessionStreamParams{Input: "go", ToolHandlers: map[string]openai.AgentToolHandler{
				"look": func(context.Context, map[string]any) (any, error) {
					t.Error("the call waits no more")
					return "", nil
				}}},
				option.WithHeader("Last-Event-ID", told[0].id))
			for again.Next() && again.Current().Type != "agent.session.turn.completed" {
			}
			require.NoError(t, again.Err())
			require.NoError(t, again.Close())
		})
	}
}

// requireCallsToldAsListed requires that the calls and results of a stream are the
// listed ones.
func (w *world) requireCallsToldAsListed(id string, told []seen, outputs int) {
	w.t.Helper()
	done, added := map[string]string{}, map[string]string{}
	for _, e := range told {
		item := gjson.Get(e.data, "item")
		switch {
		case e.name == "agent.session.turn.item.done" && item.Get("type").String() != "message":
			done[item.Get("id").String()] = item.Raw
		case e.name == "agent.session.turn.item.added" && item.Get("type").String() == "function_call_output":
			added[item.Get("id").String()] = item.Raw
		}
	}
	require.Len(w.t, added, outputs)
	for _, item := range w.items(id) {
		switch item.Type {
		case "function_call", "mcp_call":
			require.JSONEq(w.t, item.RawJSON(), done[item.ID])
		case "function_call_output":
			require.JSONEq(w.t, item.RawJSON(), added[item.ID])
		}
	}
}

// A reader who comes while one of two calls is answered is told of the other to run.
func TestAReaderIsToldOfTheCallsThatStillWait(t *testing.T) {
	w := newWorld(t, playing(scripted.Step{Calls: []scripted.Call{calling("/functions/look", `{"where":"x"}`), calling("/functions/look", `{"where":"y"}`)}},
		scripted.Step{Text: "seen"}))
	made, err := w.sessions().New(w.ctx(), lookingWhere(""))
	require.NoError(t, err)
	live := w.attach(made.ID, "")
	require.NoError(t, w.sessions().Events.New(w.ctx(), made.ID, saying("k", "go")))
	begun := live.until("agent.session.requires_action")
	actions := w.until(made.ID, "requires_action").RequiredActions
	require.NoError(t, w.give(made.ID, actions[0], true, "seen"))
	toRun := func(events []seen) (calls []string) {
		for _, e := range events {
			if isCallToRun(e) {
				calls = append(calls, gjson.Get(e.data, "item.call_id").String())
			}
		}
		return calls
	}
	require.Equal(t, []string{actions[0].CallID, actions[1].CallID}, toRun(begun))
	late := w.attach(made.ID, begun[0].id)
	require.Equal(t, []string{actions[1].CallID}, toRun(late.until("agent.session.requires_action")))
	w.cancel(made.ID)
	live.until("agent.session.idle")
	later := w.attach(made.ID, begun[0].id).until("agent.session.idle")
	require.Empty(t, toRun(later), "the turn has ended")
	w.requireCallsToldAsListed(made.ID, later, 2)
}

// A creation that is repeated under its key, and a reader who comes after a crash, have
// handlers for the calls that still wait.
func TestHandlersAreCalledOnceOverRepeats(t *testing.T) {
	script := playing(scripted.Step{Calls: []scripted.Call{calling("/functions/look", `{"where":"x"}`)}}, scripted.Step{Text: "seen"})
	w := newWorld(t, script)
	handled := 0
	p := lookingWhere("go")
	p.ToolHandlers = map[string]openai.AgentToolHandler{"look": func(context.Context, map[string]any) (any, error) {
		handled++
		return "seen", nil
	}}
	for range 2 {
		result, err := openai.BetaAgentSessionFinalResult(w.sessions().NewStreaming(w.ctx(), p, option.WithHeader("Idempotency-Key", "k")))
		require.NoError(t, err)
		require.Equal(t, "seen", result.OutputText())
		require.Equal(t, 1, handled)
	}

	waiting := lookingWhere("go")
	again := option.WithHeader("Idempotency-Key", "another")
	stream := w.sessions().NewStreaming(w.ctx(), waiting, again)
	for stream.Next() && stream.Current().Type != "agent.session.requires_action" {
	}
	require.NoError(t, stream.Err())
	require.NoError(t, stream.Close())
	left := w.afterAKill(script, fitting{})
	waiting.ToolHandlers = p.ToolHandlers
	result, err := openai.BetaAgentSessionFinalResult(left.sessions().NewStreaming(left.ctx(), waiting, again))
	require.NoError(t, err)
	require.Equal(t, "seen", result.OutputText())
	require.Equal(t, 2, handled)
}
