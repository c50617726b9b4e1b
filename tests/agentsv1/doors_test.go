package agentsv1

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"

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
	for maker, begin := range makers {
		for sayer, say := range sayers {
			t.Run(maker+" makes it and "+sayer+" speaks", func(t *testing.T) {
				d := newTwoDoors(t, talker(), careful)
				id := begin(d)
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

// A fork shows what it has copied as the session it was made of does, though none of
// it is of a turn any more.
func TestAForkShowsItsCalls(t *testing.T) {
	d := newTwoDoors(t, talker(), careful)
	id := d.made("echo", "idle")
	sayers["agents"](d, id, "ask")
	for range 2 {
		answerers["$"](d, id, d.until(id, "requires_action").RequiredActions[0], true)
	}
	d.until(id, "idle")
	fork, err := d.dollar.SessionFork(d.ctx(), api.SessionForkArgs{Address: address(id)})
	require.NoError(t, err)
	d.agree(string(fork.Session.ID))
	var lines [2][]string
	for i, seen := range []seenByAgents{d.byAgents(id), d.byAgents(string(fork.Session.ID))} {
		for _, line := range itemLines(seen.items) {
			text, _, _ := strings.Cut(line, "; turn ")
			lines[i] = append(lines[i], text)
		}
	}
	require.Equal(t, lines[0], lines[1])
	require.Contains(t, strings.Join(lines[1], "\n"), "output of ")
}
