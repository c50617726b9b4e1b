package agentsv1

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"agenthost/host"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
)

// playing returns an oracle that plays the steps in every turn.
func playing(steps ...scripted.Step) *scripted.Oracle {
	return scripted.Play(scripted.Script{Rules: []scripted.Rule{{Steps: steps}}})
}

func calling(path, args string) scripted.Call { return scripted.Call{Path: path, Args: args} }

// atDesk is a host whose profile has a tool of its clients at /desk/look, and wants
// approval for some tools.
func atDesk(t *testing.T, script *scripted.Oracle, tree *tools.Tree, needsApproval ...string) *world {
	t.Helper()
	return newFitted(t, script, fitting{tools: tree, fit: func(profiles map[string]host.Profile) {
		p := profiles[sessions.DefaultProfile]
		p.ClientTools = []sessions.ClientTool{{Path: "/desk/look", Description: "Looks at the desk."}}
		p.NeedsApproval = needsApproval
		p.Tools = append(p.Tools, "/slow")
		profiles[sessions.DefaultProfile] = p
	}})
}

// give answers a call that waits.
func (w *world) give(id string, action openai.AgentSessionRequiredActionUnion, success bool, output string) error {
	w.t.Helper()
	result := &openai.AgentSessionInputParamAgentSessionInputToolResult{CallID: action.CallID, TurnID: action.TurnID, Success: success}
	if success {
		result.Output = openai.AgentFunctionCallOutputParamUnion{OfString: openai.String(output)}
	} else {
		result.Error = openai.String(output)
	}
	return w.sessions().Events.New(w.ctx(), id, openai.BetaAgentSessionEventNewParams{
		Events: []openai.AgentSessionInputParamUnion{{OfParamAgentSessionInputToolResult: result}}})
}

// items lists all items of a session, oldest first.
func (w *world) items(id string) (all []openai.AgentSessionItemUnion) {
	w.t.Helper()
	pager := w.sessions().Items.ListAutoPaging(w.ctx(), id, openai.BetaAgentSessionItemListParams{Order: "asc"})
	for pager.Next() {
		all = append(all, pager.Current())
	}
	require.NoError(w.t, pager.Err())
	return all
}

// requireToldAsListed requires that a stream has told of each item once, in the last
// state that the list has it in.
func (w *world) requireToldAsListed(id string, told []seen) {
	w.t.Helper()
	last, added := map[string]string{}, map[string]int{}
	for _, e := range told {
		item := gjson.Get(e.data, "item")
		switch e.name {
		case "agent.session.turn.item.added":
			added[item.Get("id").String()]++
			last[item.Get("id").String()] = item.Raw
		case "agent.session.turn.item.done":
			if item.Get("type").String() == "function_call" { // one that was refused is not to be run
				added[item.Get("id").String()] = 1
			}
			require.Equal(w.t, 1, added[item.Get("id").String()], "it was added before: %s", item.Raw)
			last[item.Get("id").String()] = item.Raw
		}
	}
	listed := w.items(id)
	require.Len(w.t, last, len(listed))
	for _, item := range listed {
		require.Equal(w.t, 1, added[item.ID], item.RawJSON())
		require.JSONEq(w.t, item.RawJSON(), last[item.ID])
	}
}

const streamed = `{"environment":{"type":"none"},"agent":{"model":"default"},"input":"hi","stream":true}`

func TestACallThatAClientRunsIsAFunctionCall(t *testing.T) {
	script := playing(scripted.Step{Calls: []scripted.Call{calling("/desk/look", `{"at":"lamp"}`), calling("/builtin/echo", `{"text":"x"}`)}},
		scripted.Step{Text: "seen"})
	w := atDesk(t, script, nil)

	t.Run("by hand", func(t *testing.T) {
		made, err := w.sessions().New(w.ctx(), body("hi"))
		require.NoError(t, err)
		waiting := w.until(made.ID, "requires_action")
		require.Len(t, waiting.RequiredActions, 1)
		action := waiting.RequiredActions[0]
		require.Equal(t, "desk__look", action.Name)
		require.Equal(t, map[string]any{"at": "lamp"}, action.Arguments)
		items := w.items(made.ID)
		require.Equal(t, "function_call", items[1].Type)
		require.Equal(t, action.CallID, items[1].CallID)
		require.Equal(t, action.Name, items[1].Name)
		require.Equal(t, "mcp_call", items[2].Type)
		require.Equal(t, "builtin", items[2].ServerLabel)
		require.NoError(t, w.give(made.ID, action, true, "a lamp"))
		w.until(made.ID, "idle")
		output := w.items(made.ID)[3]
		require.Equal(t, "function_call_output", output.Type)
		require.Equal(t, action.CallID, output.CallID)
		require.Equal(t, "a lamp", output.AsFunctionCallOutput().Output.OfString)
	})
	t.Run("by the handlers of a stream", func(t *testing.T) {
		p := body("hi")
		p.ToolHandlers = map[string]openai.AgentToolHandler{"desk__look": func(_ context.Context, args map[string]any) (any, error) {
			return args, nil
		}}
		result, err := openai.BetaAgentSessionFinalResult(w.sessions().NewStreaming(w.ctx(), p))
		require.NoError(t, err)
		require.Equal(t, "seen", result.OutputText())
	})
}

// A call is told of when it can be answered: not while others of its step still run.
func TestAFunctionCallIsToldWhenItWaits(t *testing.T) {
	release := make(chan struct{})
	slow, err := tools.Func("Takes its time.", func(ctx context.Context, _ tools.Call, _ struct{}) (string, error) {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return "done", ctx.Err()
	})
	require.NoError(t, err)
	tree := &tools.Tree{}
	require.NoError(t, tree.Mount("/slow", slow))
	w := atDesk(t, playing(scripted.Step{Calls: []scripted.Call{calling("/desk/look", `{}`), calling("/slow", `{}`)}}, scripted.Step{Text: "seen"}), tree)
	var action openai.AgentSessionRequiredActionUnion
	told := w.follow(w.plain("POST", "/v1/agents/sessions", streamed, nil), func(e seen) {
		switch gjson.Get(e.data, "item.type").String() {
		case "mcp_call":
			if e.name == "agent.session.turn.item.added" {
				close(release)
			}
		case "function_call":
			if e.name == "agent.session.turn.item.added" {
				action.CallID, action.TurnID = gjson.Get(e.data, "item.call_id").String(), gjson.Get(e.data, "turn_id").String()
				require.NoError(t, w.give(gjson.Get(e.data, "session_id").String(), action, true, "x"))
			}
		}
	})
	require.NotEmpty(t, action.CallID)
	w.requireToldAsListed(gjson.Get(told[0].data, "session.id").String(), told)
}

func TestACallThatWaitsForApproval(t *testing.T) {
	w := atDesk(t, playing(scripted.Step{Calls: []scripted.Call{calling("/builtin/echo", `{"text":"x"}`)}}, scripted.Step{Text: "well"}), nil, "/builtin/echo")
	for name, approves := range map[string]bool{"approved": true, "declined": false} {
		t.Run(name, func(t *testing.T) {
			var names []string
			told := w.follow(w.plain("POST", "/v1/agents/sessions", streamed, nil), func(e seen) {
				names = append(names, e.name[len("agent.session."):])
				if e.name != "agent.session.requires_action" {
					return
				}
				id := gjson.Get(e.data, "session.id").String()
				now, err := w.sessions().Get(w.ctx(), id)
				require.NoError(t, err)
				require.EqualValues(t, "requires_action", now.Status)
				require.Len(t, now.RequiredActions, 1)
				require.JSONEq(t, now.RequiredActions[0].RawJSON(), gjson.Get(e.data, "session.required_actions.0").Raw)
				require.Equal(t, "function_call", now.RequiredActions[0].Type)
				require.Equal(t, "builtin__echo", now.RequiredActions[0].Name)
				call := w.items(id)[1]
				require.Equal(t, "mcp_call", call.Type)
				require.Equal(t, "in_progress", call.Status)
				require.NoError(t, w.give(id, now.RequiredActions[0], approves, "no"))
			})
			require.Equal(t, []string{"created", "turn.created", "turn.item.added", "in_progress", "turn.in_progress", "turn.item.added",
				"requires_action", "in_progress", "turn.item.done", "turn.item.added", "turn.content_part.added", "turn.output_text.delta",
				"turn.output_text.done", "turn.content_part.done", "turn.item.done", "turn.completed", "idle"}, names)
			id := gjson.Get(told[0].data, "session.id").String()
			w.requireToldAsListed(id, told)
			call := w.items(id)[1].AsMcpCall()
			if approves {
				require.EqualValues(t, "completed", call.Status)
				require.Equal(t, "x", call.Output)
				return
			}
			require.EqualValues(t, "failed", call.Status)
			require.NotEmpty(t, call.Error)
		})
	}
}

// The first result of a client's tool that needs approval approves it, and only then
// is it shown as a call to be run.
func TestAClientsToolThatNeedsApproval(t *testing.T) {
	w := atDesk(t, playing(scripted.Step{Calls: []scripted.Call{calling("/desk/look", `{}`)}}, scripted.Step{Text: "seen"}), nil, "/desk")
	var approved, ran int
	p := body("hi")
	p.ToolHandlers = map[string]openai.AgentToolHandler{"desk__look": func(context.Context, map[string]any) (any, error) {
		require.Equal(t, 1, approved, "it runs when it is approved")
		ran++
		return "a lamp", nil
	}}
	var text string
	stream := w.sessions().NewStreaming(w.ctx(), p)
	for stream.Next() {
		text += stream.Current().Delta
		if e := stream.Current(); e.Type == "agent.session.requires_action" && ran == 0 && approved == 0 {
			approved++
			require.NoError(t, w.give(e.Session.ID, e.Session.RequiredActions[0], true, ""))
		}
	}
	require.NoError(t, stream.Err())
	require.Equal(t, 1, ran)
	require.Equal(t, "seen", text)
}

func TestAResultThatIsGivenAgain(t *testing.T) {
	w := atDesk(t, playing(scripted.Step{Calls: []scripted.Call{calling("/desk/look", `{}`), calling("/desk/look", `{"again":1}`)}}, scripted.Step{Text: "seen"}), nil)
	made, err := w.sessions().New(w.ctx(), body("hi"))
	require.NoError(t, err)
	waiting := w.until(made.ID, "requires_action")
	one, two := waiting.RequiredActions[0], waiting.RequiredActions[1]
	say := func(action openai.AgentSessionRequiredActionUnion, output, key string) *http.Response {
		return w.plain("POST", "/v1/agents/sessions/"+made.ID+"/events", `{"events":[{"type":"agent.session.input.tool_result","call_id":"`+
			action.CallID+`","turn_id":"`+action.TurnID+`","success":true,"output":"`+output+`"}]}`, http.Header{"Idempotency-Key": {key}})
	}
	unknown := func(response *http.Response, call string) {
		t.Helper()
		require.JSONEq(t, `{"error":{"message":"Unknown pending tool call: `+call+`","type":"invalid_request_error","code":"invalid_request_error","param":null}}`,
			textOf(w, response))
		require.Equal(t, 400, response.StatusCode)
	}
	require.Equal(t, 202, say(one, "x", "k1").StatusCode)
	left := w.until(made.ID, "requires_action")
	require.Len(t, left.RequiredActions, 1)
	require.Equal(t, two.CallID, left.RequiredActions[0].CallID)
	for range 2 {
		require.Equal(t, 202, say(one, "x", "k1").StatusCode, "the same request")
		unknown(say(one, "x", "k2"), one.CallID)
		unknown(say(one, "y", "k3"), one.CallID)
		require.Equal(t, 202, say(two, "x", "k4").StatusCode)
		w.until(made.ID, "idle")
	}
	require.Len(t, w.items(made.ID), 6)
}

// Of several results that come at the same time the call takes one, and the others are
// told that it does not wait.
func TestResultsOfOneCallAtTheSameTime(t *testing.T) {
	w := atDesk(t, playing(scripted.Step{Calls: repeated(calling("/desk/look", `{}`), 2)}, scripted.Step{Text: "seen"}), nil)
	for range 10 {
		made, err := w.sessions().New(w.ctx(), body("hi"))
		require.NoError(t, err)
		action := w.until(made.ID, "requires_action").RequiredActions[0]
		errs := make([]error, 6)
		var group sync.WaitGroup
		for i := range errs {
			group.Go(func() { errs[i] = w.give(made.ID, action, i%2 == 0, fmt.Sprint("result ", i)) })
		}
		group.Wait()
		taken := 0
		for _, err := range errs {
			if err == nil {
				taken++
				continue
			}
			var refused *openai.Error
			require.ErrorAs(t, err, &refused)
			require.Equal(t, 400, refused.StatusCode)
			require.Equal(t, "Unknown pending tool call: "+action.CallID, refused.Message)
		}
		require.Equal(t, 1, taken)
	}
}

// A session's function does not go by the name of another tool that an action may name.
func TestFunctionsHaveNamesOfTheirOwn(t *testing.T) {
	w := atDesk(t, answers("ok"), nil)
	before := w.digest()
	for _, name := range []string{"desk__look", "builtin__echo"} {
		response := w.plain("POST", "/v1/agents/sessions", `{"environment":{"type":"none"},"agent":{"model":"default","tools":[{"type":"function","name":"`+
			name+`","description":"d","parameters":{}}]}}`, nil)
		text := textOf(w, response)
		require.Equal(t, 400, response.StatusCode, text)
		require.Contains(t, text, `"param":"agent.tools"`)
	}
	require.Equal(t, before, w.digest(), "nothing was written")
}
