package agentsv1

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"agenthost/host/api"
	"agenthost/host/client"
	"agenthost/oracle"
	"agenthost/sessions"
)

// twoDoors is a host that is driven through both of its doors: by the SDK, and by
// the client of the host's own protocol.
type twoDoors struct {
	*world
	dollar *client.Client
}

func newTwoDoors(t *testing.T, by oracle.Oracle, fit fitting) *twoDoors {
	t.Helper()
	d := &twoDoors{world: newFitted(t, by, fit)}
	d.dial()
	return d
}

// dial connects to the host that the world has now.
func (d *twoDoors) dial() {
	d.t.Helper()
	var err error
	d.dollar, err = client.Dial(d.t.Context(), d.url, client.Config{})
	require.NoError(d.t, err)
	d.t.Cleanup(d.dollar.Close)
}

func address(id string) api.Address { return api.Address{SessionID: sessions.SessionID(id)} }

// seenByDollar is all that the host's own protocol shows of a session.
type seenByDollar struct {
	session  sessions.Session
	turns    []sessions.Turn // oldest first
	messages []sessions.Message
	children []sessions.Ref
}

func (d *twoDoors) byDollar(id string) (s seenByDollar) {
	d.t.Helper()
	got, err := d.dollar.SessionGet(d.ctx(), api.SessionGetArgs{Address: address(id)})
	require.NoError(d.t, err)
	s.session = got.Session
	s.session.Resident = false // which nobody else is shown
	turns, err := d.dollar.Turns(d.ctx(), api.TurnsArgs{Address: address(id), Limit: new(200)})
	require.NoError(d.t, err)
	require.Empty(d.t, turns.NextCursor)
	s.turns = turns.Turns
	slices.Reverse(s.turns)
	messages, err := d.dollar.Messages(d.ctx(), api.MessagesArgs{Address: address(id), Limit: new(1000)})
	require.NoError(d.t, err)
	require.False(d.t, messages.HasMore)
	s.messages = messages.Messages
	children, err := d.dollar.Children(d.ctx(), api.ChildrenArgs{Address: address(id)})
	require.NoError(d.t, err)
	s.children = children.Refs
	return s
}

// seenByAgents is all that the Agents API shows of a session.
type seenByAgents struct {
	session gjson.Result
	turns   []gjson.Result // oldest first
	items   []gjson.Result
	kids    []gjson.Result // subagents
}

func (d *twoDoors) byAgents(id string) (s seenByAgents) {
	d.t.Helper()
	got, err := d.sessions().Get(d.ctx(), id)
	require.NoError(d.t, err)
	s.session = gjson.Parse(got.RawJSON())
	turns := d.sessions().Turns.ListAutoPaging(d.ctx(), id, openai.BetaAgentSessionTurnListParams{Order: "asc", Limit: openai.Int(3)})
	for turns.Next() {
		s.turns = append(s.turns, gjson.Parse(turns.Current().RawJSON()))
	}
	require.NoError(d.t, turns.Err())
	items := d.sessions().Items.ListAutoPaging(d.ctx(), id, openai.BetaAgentSessionItemListParams{Order: "asc", Limit: openai.Int(5)})
	for items.Next() {
		s.items = append(s.items, gjson.Parse(items.Current().RawJSON()))
	}
	require.NoError(d.t, items.Err())
	kids := d.sessions().Subagents.ListAutoPaging(d.ctx(), id, openai.BetaAgentSessionSubagentListParams{Order: "asc", Limit: openai.Int(2)})
	for kids.Next() {
		s.kids = append(s.kids, gjson.Parse(kids.Current().RawJSON()))
	}
	require.NoError(d.t, kids.Err())
	return s
}

// agree requires that both doors show the same session: as one, in its turns, and
// text by text. A session that is at work is looked at until neither look has seen
// it move.
func (d *twoDoors) agree(id string) seenByDollar {
	d.t.Helper()
	ctx := d.ctx()
	before, other, after := d.byDollar(id), d.byAgents(id), d.byDollar(id)
	for !reflect.DeepEqual(before, after) {
		require.NoError(d.t, ctx.Err(), "the session does not come to rest")
		before, other, after = after, d.byAgents(id), d.byDollar(id)
	}
	require.Equal(d.t, sessionByDollar(before.session), sessionByAgents(other.session))
	require.Equal(d.t, turnsByDollar(before.turns), turnsByAgents(other.turns))
	require.Equal(d.t, childrenByDollar(before.children), childrenByAgents(other.kids))
	functions := functionsOf(other.items)
	require.Equal(d.t, messagesAsItems(before.messages, "", functions), itemLines(other.items))
	for _, t := range before.turns {
		var own []gjson.Result
		items := d.sessions().Turns.Items.ListAutoPaging(d.ctx(), id, string(t.TurnID), openai.BetaAgentSessionTurnItemListParams{Order: "asc"})
		for items.Next() {
			own = append(own, gjson.Parse(items.Current().RawJSON()))
		}
		require.NoError(d.t, items.Err())
		if t.Status.Terminal() {
			require.Equal(d.t, messagesAsItems(before.messages, t.TurnID, functions), itemLines(own))
		}
	}
	return before
}

// agreeOnAbsence requires that neither door has the session.
func (d *twoDoors) agreeOnAbsence(id string) {
	d.t.Helper()
	_, err := d.dollar.SessionGet(d.ctx(), api.SessionGetArgs{Address: address(id)})
	require.Equal(d.t, sessions.CodeSessionNotFound, sessions.CodeOf(err))
	var missing *openai.Error
	_, err = d.sessions().Get(d.ctx(), id)
	require.ErrorAs(d.t, err, &missing)
	require.Equal(d.t, 404, missing.StatusCode)
}

// agreeOnList requires that both doors list the same sessions.
func (d *twoDoors) agreeOnList() {
	d.t.Helper()
	listed, err := d.dollar.SessionList(d.ctx(), api.SessionListArgs{ParentID: api.Null[sessions.SessionID](), Limit: new(200)})
	require.NoError(d.t, err)
	var ids, others []string
	for _, s := range listed.Sessions {
		ids = append(ids, string(s.ID))
	}
	pager := d.sessions().ListAutoPaging(d.ctx(), openai.BetaAgentSessionListParams{Limit: openai.Int(3)})
	for pager.Next() {
		others = append(others, pager.Current().ID)
	}
	require.NoError(d.t, pager.Err())
	require.True(d.t, slices.IsSortedFunc(others, func(a, b string) int { return strings.Compare(b, a) }))
	require.ElementsMatch(d.t, ids, others)
}

// What follows writes down the same facts as lines, as either door has them.

func sessionByDollar(s sessions.Session) []string {
	status := map[sessions.Status]string{sessions.StatusCreated: "idle", sessions.StatusIdle: "idle", sessions.StatusClosed: "idle",
		sessions.StatusRunning: "in_progress", sessions.StatusWaiting: "requires_action", sessions.StatusFailed: "failed"}[s.Status]
	switch {
	case s.Status == sessions.StatusWaiting && len(s.Pending) == 0: // all is answered, and the turn is about to go on
		status = "in_progress"
	case s.Queued > 0 && s.Status != sessions.StatusWaiting:
		status = "in_progress"
	}
	why := "null"
	if status == "failed" {
		why = s.LastError.Message
	}
	lines := []string{
		"status " + status, "error " + why, "id " + string(s.ID),
		fmt.Sprintf("times %d %d", s.CreatedAt/1000, s.LastActiveAt/1000),
		usageLine(s.Usage), fmt.Sprint("labels ", s.Labels), "agent " + cmp.Or(string(s.AgentID), s.ProfileKey),
	}
	for _, p := range s.Pending {
		lines = append(lines, fmt.Sprintf("pending %s %s %s %s", p.CallID, p.Path[strings.LastIndexByte(p.Path, '/')+1:], p.Args, s.ActiveTurn.TurnID))
	}
	return lines
}

func sessionByAgents(s gjson.Result) []string {
	why, labels := "null", map[string]string{}
	if s.Get("error").Type != gjson.Null {
		why = s.Get("error").String()
	}
	for name, value := range s.Get("metadata").Map() {
		labels[name] = value.String()
	}
	lines := []string{
		"status " + s.Get("status").String(), "error " + why, "id " + s.Get("id").String(),
		fmt.Sprintf("times %d %d", s.Get("created_at").Int(), s.Get("last_active_at").Int()),
		usageLineOf(s.Get("usage")), fmt.Sprint("labels ", labels), "agent " + s.Get("agent.id").String(),
	}
	for _, a := range s.Get("required_actions").Array() {
		name := a.Get("name").String()
		lines = append(lines, fmt.Sprintf("pending %s %s %s %s", a.Get("call_id"), name[strings.LastIndexByte(name, '_')+1:], a.Get("arguments").Raw, a.Get("turn_id")))
	}
	return lines
}

func childrenByDollar(refs []sessions.Ref) (lines []string) {
	for _, r := range refs {
		status := "active"
		if slices.Contains([]sessions.RefStatus{sessions.RefFailed, sessions.RefClosed, sessions.RefLost, sessions.RefGone}, r.Status) {
			status = "closed"
		}
		lines = append(lines, fmt.Sprintf("%s %s since %d", r.SessionID, status, r.CreatedAt/1000))
	}
	return lines
}

func childrenByAgents(kids []gjson.Result) (lines []string) {
	for _, k := range kids {
		lines = append(lines, fmt.Sprintf("%s %s since %d", k.Get("id"), k.Get("status"), k.Get("opened_at").Int()))
	}
	return lines
}

func usageLine(u sessions.Usage) string {
	return fmt.Sprintf("usage %d (%d cached) + %d = %d", u.InputTokens, u.CachedTokens, u.OutputTokens, u.InputTokens+u.OutputTokens)
}

func usageLineOf(u gjson.Result) string {
	return fmt.Sprintf("usage %d (%d cached) + %d = %d", u.Get("input_tokens").Int(), u.Get("input_tokens_details.cached_tokens").Int(),
		u.Get("output_tokens").Int(), u.Get("total_tokens").Int())
}

func turnsByDollar(turns []sessions.Turn) (lines []string) {
	statuses := map[sessions.TurnStatus]string{sessions.TurnIsQueued: "queued", sessions.TurnIsRunning: "in_progress", sessions.TurnIsWaiting: "waiting",
		sessions.TurnIsCompleted: "completed", sessions.TurnIsFailed: "failed", sessions.TurnIsInterrupted: "failed", sessions.TurnIsCancelled: "cancelled"}
	for _, t := range turns {
		why := "null"
		if statuses[t.Status] == "failed" && t.Error != nil {
			why = t.Error.Message
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s; at %d %d %d; %s", t.TurnID, statuses[t.Status], why, t.CreatedAt/1000, t.StartedAt/1000, t.EndedAt/1000, usageLine(t.Usage)))
	}
	return lines
}

func turnsByAgents(turns []gjson.Result) (lines []string) {
	for _, t := range turns {
		why := "null"
		if t.Get("error").Type != gjson.Null {
			why = t.Get("error.message").String()
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s; at %d %d %d; %s", t.Get("id"), t.Get("status"), why,
			t.Get("created_at").Int(), t.Get("started_at").Int(), t.Get("completed_at").Int(), usageLineOf(t.Get("usage"))))
	}
	return lines
}

// functionsOf returns the calls that the Agents API shows as a client's. The host's
// own protocol does not tell whose a call is once it has its result.
func functionsOf(items []gjson.Result) map[sessions.CallID]bool {
	calls := map[sessions.CallID]bool{}
	for _, item := range items {
		if item.Get("type").String() == "function_call" {
			calls[sessions.CallID(item.Get("call_id").String())] = true
		}
	}
	return calls
}

// messagesAsItems writes down the messages of a turn, of all when there is none, as
// the items that they are.
func messagesAsItems(messages []sessions.Message, turn sessions.TurnID, functions map[sessions.CallID]bool) (lines []string) {
	results := map[sessions.CallID]sessions.Message{}
	for _, m := range messages {
		results[m.ToolCallID] = m
	}
	for _, m := range messages {
		if turn != "" && m.TurnID != turn {
			continue
		}
		switch {
		case m.Role == sessions.RoleTool && functions[m.ToolCallID]:
			lines = append(lines, fmt.Sprintf("output of %s: %s; turn %s", m.ToolCallID, outcome(m), m.TurnID))
		case m.Role != sessions.RoleTool && len(m.Content) > 0:
			whole := "completed"
			if m.Interrupted {
				whole = "incomplete"
			}
			lines = append(lines, fmt.Sprintf("%s %s: %s; turn %s", m.Role, whole, sessions.TextOf(m.Content), m.TurnID))
		}
		for _, c := range m.ToolCalls {
			result, has := results[c.ID]
			line := fmt.Sprintf("of %s with %s", c.Path[strings.LastIndexByte(c.Path, '/')+1:], c.Args)
			switch {
			case functions[c.ID]:
				line = fmt.Sprintf("call %s %s", c.ID, line)
			case has:
				line = "call " + line + " gave " + outcome(result)
			default:
				line = "call " + line
			}
			lines = append(lines, fmt.Sprintf("%s; turn %s", line, m.TurnID))
		}
	}
	return lines
}

// outcome is what a call gave, or why it failed.
func outcome(result sessions.Message) string {
	if result.Error != nil {
		return "failure " + result.Error.Message
	}
	if len(result.Content) == 1 && result.Content[0].Type == sessions.ContentJSON {
		value := gjson.ParseBytes(result.Content[0].Value)
		return value.String()
	}
	return sessions.TextOf(result.Content)
}

func itemLines(items []gjson.Result) (lines []string) {
	given := func(item gjson.Result) string {
		if item.Get("error").Type != gjson.Null {
			return "failure " + item.Get("error").String()
		}
		return item.Get("output").String()
	}
	for _, item := range items {
		turn := item.Get("turn_id")
		switch kind := item.Get("type").String(); kind {
		case "message":
			var text strings.Builder
			for _, part := range item.Get("content").Array() {
				text.WriteString(part.Get("text").String())
			}
			lines = append(lines, fmt.Sprintf("%s %s: %s; turn %s", item.Get("role"), item.Get("status"), &text, turn))
		case "function_call_output":
			lines = append(lines, fmt.Sprintf("output of %s: %s; turn %s", item.Get("call_id"), given(item), turn))
		case "function_call":
			lines = append(lines, fmt.Sprintf("call %s of %s with %s; turn %s", item.Get("call_id"), item.Get("name"), item.Get("arguments").Raw, turn))
		case "mcp_call":
			line := fmt.Sprintf("call of %s with %s", item.Get("name"), item.Get("arguments").Raw)
			if item.Get("status").String() != "in_progress" {
				line += " gave " + given(item)
			}
			lines = append(lines, fmt.Sprintf("%s; turn %s", line, turn))
		default:
			lines = append(lines, "an item of the unknown type "+kind)
		}
	}
	return lines
}
