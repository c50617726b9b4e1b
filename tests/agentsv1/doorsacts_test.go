package agentsv1

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"agenthost/host/api"
	"agenthost/sessions"
)

// answerers answer a call that waits, through either door: with rain, or with a
// failure.
var answerers = map[string]func(d *twoDoors, id string, action openai.AgentSessionRequiredActionUnion, rains bool){
	"agents": func(d *twoDoors, id string, action openai.AgentSessionRequiredActionUnion, rains bool) {
		call := action.AsFunctionCall()
		result := &openai.AgentSessionInputParamAgentSessionInputToolResult{CallID: call.CallID, TurnID: call.TurnID, Success: rains}
		if rains {
			result.Output.OfString = openai.String("rain")
		} else {
			result.Error = openai.String("no sky")
		}
		require.NoError(d.t, d.sessions().Events.New(d.ctx(), id, openai.BetaAgentSessionEventNewParams{
			Events: []openai.AgentSessionInputParamUnion{{OfParamAgentSessionInputToolResult: result}}}))
	},
	"$": func(d *twoDoors, id string, action openai.AgentSessionRequiredActionUnion, rains bool) {
		args := api.AnswerArgs{Address: address(id), CallID: sessions.CallID(action.AsFunctionCall().CallID)}
		if rains {
			args.Output = json.RawMessage(`"rain"`)
		} else {
			args.Error = new("no sky")
		}
		_, err := d.dollar.Answer(d.ctx(), args)
		require.NoError(d.t, err)
	},
}

// What a client answers through one door is seen through the other, as it happens
// and afterwards, and the turn goes on.
func TestAnAnswerThroughEitherDoor(t *testing.T) {
	for name, answer := range answerers {
		t.Run(name, func(t *testing.T) {
			d := newTwoDoors(t, talker(), careful)
			id := d.made("", "idle")
			stream := d.plain("GET", "/v1/agents/sessions/"+id+"/events", "", nil)
			require.Equal(t, 200, stream.StatusCode)
			frames, err := d.dollar.Subscribe(d.ctx(), api.SubscribeArgs{Address: address(id)})
			require.NoError(t, err)
			defer frames.Close()
			sayers["agents"](d, id, "ask")
			actions := d.until(id, "requires_action").RequiredActions
			require.Len(t, actions, 2)
			require.Equal(t, sessions.StatusWaiting, d.agree(id).session.Status)
			answer(d, id, actions[0], true)
			require.Equal(t, sessions.StatusWaiting, d.agree(id).session.Status)
			require.Len(t, d.until(id, "requires_action").RequiredActions, 1)
			answer(d, id, actions[1], false)
			d.until(id, "idle")
			seen := d.agree(id)
			require.Equal(t, "seen", sessions.TextOf(seen.messages[len(seen.messages)-1].Content))

			outputs := map[string]string{}
			for _, e := range d.events(stream) {
				if item := gjson.Get(e.data, "item"); item.Get("type").String() == "function_call_output" {
					outputs[item.Get("call_id").String()] = item.Get("output").String() + item.Get("error").String()
				}
			}
			require.Equal(t, map[string]string{actions[0].AsFunctionCall().CallID: "rain", actions[1].AsFunctionCall().CallID: "no sky"}, outputs)
			answered := map[string]bool{}
			for ended := false; !ended; {
				frame, err := frames.Next(d.ctx())
				require.NoError(t, err)
				if a, ok := frame.Body.(sessions.Answered); ok {
					answered[string(a.CallID)] = true
				}
				ended = frame.Type().Terminal()
			}
			require.Len(t, answered, 2)
		})
	}
}

// An approval that one door asks for is given through the other.
func TestAnApprovalThroughEitherDoor(t *testing.T) {
	for name, answer := range map[string]func(d *twoDoors, id string, action openai.AgentSessionRequiredActionUnion){
		"agents": func(d *twoDoors, id string, action openai.AgentSessionRequiredActionUnion) {
			answerers["agents"](d, id, action, true)
		},
		"$": func(d *twoDoors, id string, action openai.AgentSessionRequiredActionUnion) {
			_, err := d.dollar.Answer(d.ctx(), api.AnswerArgs{Address: address(id), CallID: sessions.CallID(action.AsFunctionCall().CallID), Approve: new(true)})
			require.NoError(d.t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newTwoDoors(t, talker(), careful)
			id := d.made("leave", "requires_action")
			actions := d.until(id, "requires_action").RequiredActions
			require.Equal(t, sessions.PendingApproval, d.agree(id).session.Pending[0].Kind)
			answer(d, id, actions[0])
			d.until(id, "idle")
			seen := d.agree(id)
			require.Equal(t, "it is late", sessions.TextOf(seen.messages[len(seen.messages)-1].Content))
		})
	}
}

// A turn that one door has begun is cancelled through the other, and both hear of
// it.
func TestACancelThroughEitherDoor(t *testing.T) {
	cancels := map[string]func(d *twoDoors, id string){
		"agents": func(d *twoDoors, id string) { d.cancel(id) },
		"$": func(d *twoDoors, id string) {
			got, err := d.dollar.Cancel(d.ctx(), api.CancelArgs{Address: address(id)})
			require.NoError(d.t, err)
			require.True(d.t, got.Cancelled)
		},
	}
	for sayer, say := range sayers {
		for name, cancel := range cancels {
			t.Run(sayer+" begins and "+name+" cancels", func(t *testing.T) {
				d := newTwoDoors(t, talker(), careful)
				for _, text := range []string{"hang", "ask"} {
					id := d.made("", "idle")
					stream := d.plain("GET", "/v1/agents/sessions/"+id+"/events", "", nil)
					require.Equal(t, 200, stream.StatusCode)
					frames, err := d.dollar.Subscribe(d.ctx(), api.SubscribeArgs{Address: address(id)})
					require.NoError(t, err)
					say(d, id, text)
					d.until(id, map[string]openai.AgentSessionStatus{"hang": "in_progress", "ask": "requires_action"}[text])
					cancel(d, id)
					d.until(id, "idle")
					require.Equal(t, sessions.TurnIsCancelled, d.agree(id).turns[0].Status)
					var names []string
					for _, e := range d.events(stream) {
						names = append(names, strings.TrimPrefix(e.name, "agent.session."))
					}
					require.Equal(t, []string{"turn.cancelled", "idle"}, names[len(names)-2:])
					for ended := false; !ended; {
						frame, err := frames.Next(d.ctx())
						require.NoError(t, err)
						ended = frame.Type() == sessions.FrameCancelled
					}
					frames.Close()
				}
			})
		}
	}
}

func requireEndOfDeleted(t *testing.T, err error) {
	t.Helper()
	var end *api.EndError
	require.ErrorAs(t, err, &end)
	require.Equal(t, api.EndDeleted, end.Reason)
}

// What one door deletes is gone for the other, in the words of each.
func TestADeleteThroughEitherDoor(t *testing.T) {
	setUp := func(t *testing.T) (d *twoDoors, id string, end func() error) {
		t.Helper()
		d = newTwoDoors(t, talker(), careful)
		made, err := d.sessions().New(d.ctx(), asking("hello"), option.WithHeader("Idempotency-Key", "made"))
		require.NoError(t, err)
		d.until(made.ID, "idle")
		_, err = d.dollar.Prompt(d.ctx(), api.PromptArgs{Address: address(made.ID), Text: "hello", RequestID: "said"}, nil)
		require.NoError(t, err)
		d.agree(made.ID)
		frames, err := d.dollar.Subscribe(d.ctx(), api.SubscribeArgs{Address: address(made.ID)})
		require.NoError(t, err)
		return d, made.ID, func() error {
			defer frames.Close()
			for {
				if _, err := frames.Next(d.ctx()); err != nil {
					return err
				}
			}
		}
	}
	requireGone := func(d *twoDoors, id string) {
		d.t.Helper()
		d.agreeOnAbsence(id)
		d.agreeOnList()
		before := d.digest()
		_, err := d.dollar.Prompt(d.ctx(), api.PromptArgs{Address: address(id), Text: "hello", RequestID: "said"}, nil)
		require.Equal(d.t, sessions.CodeSessionDeleted, sessions.CodeOf(err))
		_, err = d.dollar.Prompt(d.ctx(), api.PromptArgs{Address: address(id), Text: "hello"}, nil)
		require.Equal(d.t, sessions.CodeSessionNotFound, sessions.CodeOf(err))
		again, err := d.dollar.SessionDelete(d.ctx(), api.SessionDeleteArgs{Address: address(id)})
		require.NoError(d.t, err)
		require.False(d.t, again.Deleted)
		gone, err := d.sessions().Delete(d.ctx(), id)
		require.NoError(d.t, err, "whoever had it is told again that it is deleted")
		require.True(d.t, gone.Deleted)
		var refused *openai.Error
		_, err = d.sessions().New(d.ctx(), asking("hello"), option.WithHeader("Idempotency-Key", "made"))
		require.ErrorAs(d.t, err, &refused)
		require.Equal(d.t, "idempotency_conflict", refused.Code)
		for _, path := range []string{"", "/items", "/turns", "/events", "/subagents"} {
			require.Equal(d.t, 404, d.plain("GET", "/v1/agents/sessions/"+id+path, "", nil).StatusCode, path)
		}
		require.Error(d.t, d.sessions().Events.New(d.ctx(), id, saying("k", "hello")))
		require.Equal(d.t, before, d.digest(), "nothing was written")
	}
	t.Run("agents", func(t *testing.T) {
		d, id, end := setUp(t)
		_, err := d.sessions().Delete(d.ctx(), id)
		require.NoError(t, err)
		requireEndOfDeleted(t, end())
		requireGone(d, id)
	})
	t.Run("$", func(t *testing.T) {
		d, id, end := setUp(t)
		stream := d.plain("GET", "/v1/agents/sessions/"+id+"/events", "", nil)
		require.Equal(t, 200, stream.StatusCode)
		got, err := d.dollar.SessionDelete(d.ctx(), api.SessionDeleteArgs{Address: address(id)})
		require.NoError(t, err)
		require.True(t, got.Deleted)
		requireEndOfDeleted(t, end())
		require.Equal(t, ": connected\n\n", textOf(d.world, stream), "the stream has ended")
		requireGone(d, id)
	})
	t.Run("$, in the middle of a turn", func(t *testing.T) {
		d, id, _ := setUp(t)
		sayers["agents"](d, id, "hang")
		d.until(id, "in_progress")
		d.requireUnsettled(id)
		d.agree(id)
		got, err := d.dollar.SessionDelete(d.ctx(), api.SessionDeleteArgs{Address: address(id)})
		require.NoError(t, err)
		require.True(t, got.Deleted)
		requireGone(d, id)
	})
	t.Run("$, of all", func(t *testing.T) {
		d, id, _ := setUp(t)
		_, err := d.dollar.SessionClearAll(d.ctx(), api.SessionClearAllArgs{})
		require.NoError(t, err)
		d.agreeOnAbsence(id)
		d.agreeOnList()
		var missing *openai.Error
		_, err = d.sessions().Delete(d.ctx(), id)
		require.ErrorAs(t, err, &missing)
		require.Equal(t, 404, missing.StatusCode)
	})
}

// The names that clients give their requests mean nothing to the other door.
func TestClaimsOfTheDoorsNeverMeet(t *testing.T) {
	d := newTwoDoors(t, talker(), careful)
	made := option.WithHeader("Idempotency-Key", "same")
	agents, err := d.sessions().New(d.ctx(), asking("hello"), made)
	require.NoError(t, err)
	d.until(agents.ID, "idle")
	dollar, err := d.dollar.SessionCreate(d.ctx(), api.SessionCreateArgs{RequestID: "same"})
	require.NoError(t, err)
	require.True(t, dollar.Created)
	id := string(dollar.Session.ID)
	require.NotEqual(t, agents.ID, id)
	_, err = d.dollar.SessionUpdate(d.ctx(), api.SessionUpdateArgs{Address: address(id), Labels: map[string]string{"a": "b"}})
	require.NoError(t, err)
	again, err := d.sessions().New(d.ctx(), asking("hello"), made)
	require.NoError(t, err)
	require.Equal(t, agents.ID, again.ID)
	repeated, err := d.dollar.SessionCreate(d.ctx(), api.SessionCreateArgs{RequestID: "same"})
	require.NoError(t, err)
	require.False(t, repeated.Created)
	require.Equal(t, dollar.Session.ID, repeated.Session.ID)

	prompt := api.PromptArgs{Address: address(id), Text: "hello", RequestID: "turn", Wait: api.WaitDone}
	first, err := d.dollar.Prompt(d.ctx(), prompt, nil)
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, d.sessions().Events.New(d.ctx(), id, saying("turn", "hello")))
		d.until(id, "idle")
	}
	second, err := d.dollar.Prompt(d.ctx(), prompt, nil)
	require.NoError(t, err)
	require.True(t, second.Duplicate)
	require.Equal(t, first.TurnID, second.TurnID)
	seen := d.agree(id)
	require.Len(t, seen.turns, 2)
	require.Equal(t, first.TurnID, seen.turns[0].TurnID)
	// A request id of the one door names no turn to the other.
	_, err = d.dollar.Turn(d.ctx(), api.TurnArgs{Address: address(id), RequestID: seen.turns[1].RequestID})
	require.Contains(t, []sessions.Code{sessions.CodeInvalidRequest, sessions.CodeNotFound}, sessions.CodeOf(err))
	// A cancel under the same name, repeated through its own door, ends nothing later.
	cancel := cancelling()
	cancel.IdempotencyKey = openai.String("stop")
	sayers["$"](d, id, "hang")
	require.NoError(t, d.sessions().Events.New(d.ctx(), id, cancel))
	d.until(id, "idle")
	prompt = api.PromptArgs{Address: address(id), Text: "hang", RequestID: "stop", Wait: api.WaitAccepted}
	_, err = d.dollar.Prompt(d.ctx(), prompt, nil)
	require.NoError(t, err)
	require.NoError(t, d.sessions().Events.New(d.ctx(), id, cancel))
	seen = d.agree(id)
	require.Equal(t, sessions.StatusRunning, seen.session.Status)
	require.Len(t, seen.turns, 4)
}
