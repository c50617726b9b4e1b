package agentsv1

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// talker is an oracle that does by what is said all that a session can be brought
// to by an answer, and counts what it consumes.
func talker() *scripted.Oracle {
	used := func(in, out, cached int64) *sessions.Usage {
		return &sessions.Usage{InputTokens: in, OutputTokens: out, CachedTokens: cached}
	}
	return scripted.Play(scripted.Script{Rules: []scripted.Rule{
		{When: "hang", Steps: []scripted.Step{{Text: "thinking", Hang: true}}},
		{When: "fail", Steps: []scripted.Step{{Usage: used(2, 0, 0), Fail: "broken"}}},
		{When: "ask", Steps: []scripted.Step{
			{Text: "let me look", Calls: []scripted.Call{{Path: "/functions/look", Args: `{"n":1}`}, {Path: "/functions/look", Args: `{"n":2}`}}, Usage: used(5, 4, 1)},
			{Text: "seen", Usage: used(9, 1, 5)}}},
		{When: "echo", Steps: []scripted.Step{
			{Calls: []scripted.Call{{Path: "/builtin/echo", Args: `{"text":"back"}`}, {Path: "/builtin/echo", Args: `{"text":7}`}}, Usage: used(5, 4, 1)},
			{Text: "echoed", Usage: used(9, 1, 5)}}},
		{When: "leave", Steps: []scripted.Step{{Calls: []scripted.Call{{Path: "/builtin/time"}}}, {Text: "it is late"}}},
		{Steps: []scripted.Step{{Deltas: []scripted.Delta{{Text: "o"}, {Text: "k"}}, Usage: used(3, 2, 0)}}},
	}})
}

// careful has the profile ask before it tells the time.
var careful = fitting{fit: func(profiles map[string]host.Profile) {
	profile := profiles[sessions.DefaultProfile]
	profile.NeedsApproval = []string{"/builtin/time"}
	profiles[sessions.DefaultProfile] = profile
}}

// looking is the function tool of asking, as the host's own protocol has it.
var looking = []sessions.ClientTool{{Path: "/functions/look", Description: "Looks.", Schema: json.RawMessage(`{"type":"object"}`)}}

// makers make a session through either door.
var makers = map[string]func(d *twoDoors) string{
	"agents": func(d *twoDoors) string { return d.made("", "idle") },
	"$": func(d *twoDoors) string {
		made, err := d.dollar.SessionCreate(d.ctx(), api.SessionCreateArgs{Labels: map[string]string{"by": "$"}, Title: "a title"})
		require.NoError(d.t, err)
		return string(made.Session.ID)
	},
	"$, with an id of its own": func(d *twoDoors) string {
		made, err := d.dollar.SessionCreate(d.ctx(), api.SessionCreateArgs{Address: address("order-7")})
		require.NoError(d.t, err)
		return string(made.Session.ID)
	},
}

// sayers say something to a session through either door, without waiting.
var sayers = map[string]func(d *twoDoors, id, text string){
	"agents": func(d *twoDoors, id, text string) {
		require.NoError(d.t, d.sessions().Events.New(d.ctx(), id, saying(text, text)))
	},
	"$": func(d *twoDoors, id, text string) {
		_, err := d.dollar.Prompt(d.ctx(), api.PromptArgs{Address: address(id), Text: text, ClientTools: looking, Wait: api.WaitAccepted}, nil)
		require.NoError(d.t, err)
	},
}

// A session is the same through both doors, whoever has made it, whoever speaks to
// it, and whatever it is doing.
func TestBothDoorsShowTheSameSession(t *testing.T) {
	for maker, make := range makers {
		for sayer, say := range sayers {
			t.Run(maker+" makes it and "+sayer+" speaks", func(t *testing.T) {
				d := newTwoDoors(t, talker(), careful)
				id := make(d)
				require.Equal(t, sessions.StatusCreated, d.agree(id).session.Status)
				for _, c := range []struct {
					text   string
					status openai.AgentSessionStatus
				}{{"hello", "idle"}, {"echo", "idle"}, {"fail", "failed"}, {"hello again", "idle"}, {"leave", "requires_action"}, {"hang", "in_progress"}} {
					if c.status == "in_progress" {
						d.cancel(id)
					}
					say(d, id, c.text)
					d.until(id, c.status)
					d.agree(id)
				}
				seen := d.agree(id)
				require.Len(t, seen.turns, 6)
				require.Equal(t, sessions.StatusRunning, seen.session.Status)
				require.NotZero(t, seen.session.Usage.CachedTokens)
				_, err := d.dollar.Prompt(d.ctx(), api.PromptArgs{Address: address(id), Text: "hello behind", Busy: sessions.BusyQueue, Wait: api.WaitAccepted}, nil)
				require.NoError(t, err)
				require.EqualValues(t, 1, d.agree(id).session.Queued)
				_, err = d.dollar.Cancel(d.ctx(), api.CancelArgs{Address: address(id)})
				require.NoError(t, err)
				d.until(id, "idle")
				seen = d.agree(id)
				require.Equal(t, sessions.TurnIsCancelled, seen.turns[5].Status)
				require.Equal(t, sessions.TurnIsCompleted, seen.turns[6].Status)
				_, err = d.dollar.SessionClose(d.ctx(), api.SessionCloseArgs{Address: address(id)})
				require.NoError(t, err)
				d.agree(id)
				d.agreeOnList()
			})
		}
	}
}

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
	cancel := openai.BetaAgentSessionEventNewParams{IdempotencyKey: openai.String("stop"), Events: []openai.AgentSessionInputParamUnion{
		{OfParamAgentSessionInputCancel: &openai.AgentSessionInputParamAgentSessionInputCancel{}}}}
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

// A session whose turns went through either door goes on through both on another
// host, as it is.
func TestBothDoorsShowTheSameSessionAfterARestart(t *testing.T) {
	d := newTwoDoors(t, talker(), careful)
	id := d.made("echo", "idle")
	sayers["$"](d, id, "fail")
	d.until(id, "failed")
	waiting := d.made("", "idle")
	sayers["$"](d, waiting, "ask")
	d.until(waiting, "requires_action")
	before, paused := d.agree(id), d.agree(waiting)
	d.stop()
	d.open(talker())
	d.dial()
	require.Equal(t, before, d.agree(id))
	require.Equal(t, paused, d.agree(waiting))
	answerers["agents"](d, waiting, d.until(waiting, "requires_action").RequiredActions[0], true)
	answerers["$"](d, waiting, d.until(waiting, "requires_action").RequiredActions[0], false)
	d.until(waiting, "idle")
	d.agree(waiting)
}
