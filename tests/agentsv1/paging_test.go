package agentsv1

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// itemPage is a page of items as it is written.
type itemPage struct {
	Object  string
	Data    []json.RawMessage
	HasMore bool    `json:"has_more"`
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
}

func (w *world) itemPage(path, query string) itemPage {
	w.t.Helper()
	response := w.plain("GET", "/v1/agents/sessions/"+path+"?"+query, "", nil)
	text := textOf(w, response)
	require.Equal(w.t, 200, response.StatusCode, text)
	var p itemPage
	require.NoError(w.t, json.Unmarshal([]byte(text), &p))
	require.Equal(w.t, "list", p.Object)
	if len(p.Data) == 0 {
		require.Nil(w.t, p.FirstID)
		require.Nil(w.t, p.LastID)
		require.False(w.t, p.HasMore)
		return p
	}
	require.Equal(w.t, idOf(w, p.Data[0]), *p.FirstID)
	require.Equal(w.t, idOf(w, p.Data[len(p.Data)-1]), *p.LastID)
	return p
}

func idOf(w *world, item json.RawMessage) string {
	var named struct{ ID string }
	require.NoError(w.t, json.Unmarshal(item, &named))
	return named.ID
}

// walked puts the pages of a list together.
func (w *world) walked(path, order string, limit int) (all []string) {
	w.t.Helper()
	query := fmt.Sprintf("order=%s&limit=%d", order, limit)
	for p := w.itemPage(path, query); ; p = w.itemPage(path, query+"&after="+*p.LastID) {
		require.LessOrEqual(w.t, len(p.Data), limit)
		for _, item := range p.Data {
			all = append(all, string(item))
		}
		if !p.HasMore {
			return all
		}
		require.Len(w.t, p.Data, limit, "a page that is not the last one is full")
	}
}

// requirePages requires that a list is the same in pages of every size and both ways.
func (w *world) requirePages(path string, limits ...int) (whole []string) {
	w.t.Helper()
	whole = w.walked(path, "asc", 100)
	require.Len(w.t, slices.Compact(slices.Sorted(slices.Values(whole))), len(whole), "each item once")
	back := slices.Clone(whole)
	slices.Reverse(back)
	require.Equal(w.t, back, w.walked(path, "desc", 100))
	for _, limit := range limits {
		require.Equal(w.t, whole, w.walked(path, "asc", limit))
		require.Equal(w.t, back, w.walked(path, "desc", limit))
	}
	return whole
}

func repeated(call scripted.Call, times int) []scripted.Call {
	return slices.Repeat([]scripted.Call{call}, times)
}

func TestPagesOfItemsCutSteps(t *testing.T) {
	steps := []scripted.Step{
		{Text: "first", Calls: append(repeated(calling("/builtin/echo", `{"text":"x"}`), 5), repeated(calling("/desk/look", `{}`), 6)...)},
		{Calls: repeated(calling("/builtin/echo", `{"text":"y"}`), 9)},
		{Text: "then", Calls: repeated(calling("/desk/look", `{}`), 3)},
		{Text: "done"},
	}
	w := atDesk(t, playing(steps...), nil)
	made, err := w.sessions().New(w.ctx(), body("hi"))
	require.NoError(t, err)
	items := made.ID + "/items"
	answerAll := func() {
		for _, action := range w.until(made.ID, "requires_action").RequiredActions {
			require.NoError(t, w.give(made.ID, action, true, "z"))
		}
	}

	w.until(made.ID, "requires_action")
	first := w.requirePages(items, 1, 2, 7)
	require.Len(t, first, 2+11)
	answerAll()
	require.Eventually(t, func() bool { return len(w.walked(items, "asc", 100)) == 2+11+6+9+4 }, patience, 5*time.Millisecond)
	require.Len(t, w.requirePages(items, 1, 2, 7), 2+11+6+9+4)
	answerAll()
	w.until(made.ID, "idle")
	whole := w.requirePages(items, 1, 2, 7)
	require.Len(t, whole, 2+11+6+9+4+3+1)

	turns, err := w.sessions().Turns.List(w.ctx(), made.ID, openai.BetaAgentSessionTurnListParams{})
	require.NoError(t, err)
	require.Equal(t, whole, w.requirePages(made.ID+"/turns/"+turns.Data[0].ID+"/items", 1, 2, 7), "of its only turn")
	for i, item := range whole {
		page := w.itemPage(items, "order=asc&limit=100&after="+idOf(w, json.RawMessage(item)))
		require.Len(t, page.Data, len(whole)-i-1)
		page = w.itemPage(items, "order=desc&limit=100&after="+idOf(w, json.RawMessage(item)))
		require.Len(t, page.Data, i)
	}
}

// Steps are larger than what is read at once, and a page of items has less messages
// than a page of messages has items.
func TestPagesOfItemsOfLargeSteps(t *testing.T) {
	many := repeated(calling("/builtin/echo", `{"text":"x"}`), 128)
	w := newWorld(t, playing(scripted.Step{Calls: many}, scripted.Step{Calls: many}, scripted.Step{Text: "done"}))
	made, err := w.sessions().New(w.ctx(), body("hi"))
	require.NoError(t, err)
	w.until(made.ID, "idle")
	require.Len(t, w.requirePages(made.ID+"/items", 7, 99), 2*128+2)
}

func TestPagesOfTheItemsOfOneTurn(t *testing.T) {
	w := newWorld(t, playing(scripted.Step{Calls: repeated(calling("/builtin/echo", `{"text":"x"}`), 3)}, scripted.Step{Text: "done"}))
	made, err := w.sessions().New(w.ctx(), body("hi"))
	require.NoError(t, err)
	w.until(made.ID, "idle")
	for range 3 {
		require.NoError(t, w.sessions().Stream(w.ctx(), made.ID, openai.AgentSessionStreamParams{Input: "again"}).Err())
		w.until(made.ID, "idle")
	}
	turns, err := w.sessions().Turns.List(w.ctx(), made.ID, openai.BetaAgentSessionTurnListParams{Order: "asc"})
	require.NoError(t, err)
	require.Len(t, turns.Data, 4)
	var all []string
	for i, turn := range turns.Data {
		items := w.requirePages(made.ID+"/turns/"+turn.ID+"/items", 1, 2)
		require.Len(t, items, 5)
		if all = append(all, items...); i > 0 {
			w.requireUnknownAfter(made.ID+"/turns/"+turn.ID+"/items", idOf(w, json.RawMessage(all[0])))
		}
	}
	require.Equal(t, all, w.requirePages(made.ID+"/items", 3))
}

func (w *world) requireUnknownAfter(path, after string) {
	w.t.Helper()
	for _, order := range []string{"asc", "desc"} {
		response := w.plain("GET", "/v1/agents/sessions/"+path+"?order="+order+"&after="+after, "", nil)
		text := textOf(w, response)
		require.Equal(w.t, 400, response.StatusCode, text)
		require.Contains(w.t, text, `"param":"after"`)
	}
}

func TestPagesBehindWhatIsNotThere(t *testing.T) {
	w := newWorld(t, answers("ok"))
	empty, err := w.sessions().New(w.ctx(), body(""))
	require.NoError(t, err)
	require.Empty(t, w.itemPage(empty.ID+"/items", "").Data)
	require.Empty(t, w.itemPage(empty.ID+"/items", "order=asc&limit=1").Data)
	var ids []string
	for range 2 {
		made, err := w.sessions().New(w.ctx(), body("hi"))
		require.NoError(t, err)
		w.until(made.ID, "idle")
		ids = append(ids, made.ID)
	}
	own, foreign := w.items(ids[0]), w.items(ids[1])
	last := w.itemPage(ids[0]+"/items", "order=asc&after="+own[1].ID)
	require.Empty(t, last.Data)
	for _, after := range []string{"nobody", "item_", "item_1_1_0x", own[0].ID + "0", own[0].ID[:len(own[0].ID)-1] + "7", foreign[0].ID, empty.ID, "item_9223372036854775808_1_0"} {
		w.requireUnknownAfter(ids[0]+"/items", after)
	}
	w.requireUnknownAfter(empty.ID+"/items", own[0].ID)
}

// What has no turn of its own, as the messages of a fork or of a seed, is listed too.
func TestPagesOfAForkAndOfASeed(t *testing.T) {
	w := atDesk(t, playing(scripted.Step{Calls: []scripted.Call{calling("/desk/look", `{}`), calling("/builtin/echo", `{"text":"x"}`)}}, scripted.Step{Text: "done"}), nil)
	made, err := w.sessions().New(w.ctx(), body("hi"))
	require.NoError(t, err)
	require.NoError(t, w.give(made.ID, w.until(made.ID, "requires_action").RequiredActions[0], true, "z"))
	w.until(made.ID, "idle")
	kinds := func(id string) (all []string) {
		for _, item := range w.items(id) {
			all = append(all, item.Type)
		}
		return all
	}
	want := []string{"message", "function_call", "mcp_call", "function_call_output", "message"}
	require.Equal(t, want, kinds(made.ID))
	fork, err := w.host.SessionFork(t.Context(), &api.SessionForkArgs{Address: api.Address{SessionID: sessions.SessionID(made.ID)}})
	require.NoError(t, err)
	require.Equal(t, want, kinds(string(fork.Session.ID)))
	w.requirePages(string(fork.Session.ID)+"/items", 1, 2, 7)
	require.NotEqual(t, w.items(made.ID)[0].ID, w.items(string(fork.Session.ID))[0].ID)

	seeded, err := w.host.SessionSeed(t.Context(), &api.SessionSeedArgs{Address: api.Address{SessionID: "seeded"}, Messages: []api.SeedMessage{
		{Role: sessions.RoleUser, Content: sessions.Text("hi")},
		{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "c", Path: "/desk/look", Args: json.RawMessage(`{}`)}}},
		{Role: sessions.RoleTool, ToolCallID: "c", Content: sessions.Text("z")},
		{Role: sessions.RoleAssistant, Content: sessions.Text("done")}}})
	require.NoError(t, err)
	require.Equal(t, []string{"message", "function_call", "function_call_output", "message"}, kinds(string(seeded.Session.ID)))
	w.requirePages(string(seeded.Session.ID)+"/items", 1, 2, 7)
}
