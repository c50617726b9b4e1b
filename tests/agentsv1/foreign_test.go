package agentsv1

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/sessions"
)

// nobodys are ids of the host's own form that nothing has.
const (
	nobodysSession = "01a22969-8ee0-72fb-ab06-81a83759629b"
	nobodysTurn    = "01a22969-8ee0-72fb-ab06-81a83759629c"
	nobodysChild   = "01a22969-8ee0-72fb-ab06-81a83759629d"
	nobodysCall    = "call_01a229698ee072fbab0681a83759629e"
)

const (
	eventMessage = `{"type":"agent.session.input.message","input":[{"role":"user","content":[{"type":"input_text","text":"hello"}]}]}`
	eventCancel  = `{"type":"agent.session.input.cancel"}`
	eventResult  = `{"type":"agent.session.input.tool_result","call_id":"<call>","turn_id":"<turn>","success":true,"output":"x"}`
)

// askedOfASession is every route to one session. What it asks is well formed, so
// that nothing but the session can be in its way.
var askedOfASession = []asked{
	{method: "GET", path: "/sessions/<session>"},
	{method: "POST", path: "/sessions/<session>", body: `{"metadata":{"mine":"yes"}}`},
	{method: "POST", path: "/sessions/<session>", body: `{}`},
	{method: "DELETE", path: "/sessions/<session>"},
	{method: "POST", path: "/sessions/<session>/events", body: `{"events":[` + eventMessage + `]}`},
	{method: "POST", path: "/sessions/<session>/events", body: `{"events":[` + eventMessage + `]}`, header: http.Header{"Idempotency-Key": {"said"}}},
	{method: "POST", path: "/sessions/<session>/events", body: `{"events":[` + eventCancel + `]}`},
	{method: "POST", path: "/sessions/<session>/events", body: `{"events":[` + eventCancel + `]}`, header: http.Header{"Idempotency-Key": {"new"}}},
	{method: "POST", path: "/sessions/<session>/events", body: `{"events":[` + eventCancel + `,` + eventMessage + `]}`},
	{method: "POST", path: "/sessions/<session>/events", body: `{"events":[` + eventResult + `]}`},
	{method: "POST", path: "/sessions/<session>/events", body: `{"events":[` + eventResult + `]}`, header: http.Header{"Idempotency-Key": {"said"}}},
	{method: "POST", path: "/sessions/<session>/events", body: `{"events":[]}`},
	{method: "GET", path: "/sessions/<session>/events"},
	{method: "GET", path: "/sessions/<session>/events", header: http.Header{"Last-Event-Id": {"<event>"}}},
	{method: "GET", path: "/sessions/<session>/items"},
	{method: "GET", path: "/sessions/<session>/items?after=item_1_0&order=asc"},
	{method: "GET", path: "/sessions/<session>/turns"},
	{method: "GET", path: "/sessions/<session>/turns?after=<turn>"},
	{method: "GET", path: "/sessions/<session>/turns/<turn>"},
	{method: "GET", path: "/sessions/<session>/turns/<turn>/items"},
	{method: "GET", path: "/sessions/<session>/subagents"},
	{method: "GET", path: "/sessions/<session>/subagents?after=<child>"},
	{method: "GET", path: "/sessions/<session>/subagents/<child>"},
	{method: "GET", path: "/sessions/<session>/subagents/<child>/items"},
	{method: "GET", path: "/sessions/<session>/subagents/<child>/turns"},
	{method: "GET", path: "/sessions/<session>/subagents/<child>/turns/<turn>"},
	{method: "GET", path: "/sessions/<session>/subagents/<child>/turns/<turn>/items"},
}

// houseOfAnn is a host on which ann has a session in each state, and bob has others.
type houseOfAnn struct {
	*world
	ann, bob *person
	log      *hosttest.Log

	sessions map[string]map[string]string // of ann, by state: what names their parts
	event    string                       // the id of an event of ann's
}

func newHouseOfAnn(t *testing.T) *houseOfAnn {
	t.Helper()
	log := &hosttest.Log{}
	w := newFitted(t, everyState(), fitting{log: log.Logger()})
	h := &houseOfAnn{world: w, log: log, ann: w.person(api.KeyCreateArgs{Owner: "ann"}), bob: w.person(api.KeyCreateArgs{Owner: "bob"})}
	parts := func(id string) map[string]string {
		names := map[string]string{"<session>": id, "<turn>": nobodysTurn, "<call>": nobodysCall, "<child>": nobodysChild}
		if turns, err := h.ann.sessions().Turns.List(w.ctx(), id, openai.BetaAgentSessionTurnListParams{}); err == nil && len(turns.Data) > 0 {
			names["<turn>"] = turns.Data[0].ID
		}
		return names
	}
	h.sessions = map[string]map[string]string{
		"idle":    parts(h.ann.made("secret words", "idle", option.WithHeader("Idempotency-Key", "made"))),
		"busy":    parts(h.ann.made("hang", "in_progress")),
		"waiting": parts(h.ann.made("ask", "requires_action")),
		"failed":  parts(h.ann.made("fail", "failed")),
	}
	idle := h.sessions["idle"]["<session>"]
	require.NoError(t, h.ann.sessions().Events.New(w.ctx(), idle, saying("said", "hello")))
	h.ann.until(idle, "idle")
	child, err := w.host.As(h.ann.caller()).SessionCreate(w.ctx(), &api.SessionCreateArgs{ParentID: sessions.SessionID(idle), ParentLocation: sessions.Local})
	require.NoError(t, err)
	h.sessions["idle"]["<child>"] = string(child.Session.ID)
	waiting := h.ann.until(h.sessions["waiting"]["<session>"], "requires_action")
	h.sessions["waiting"]["<call>"] = waiting.RequiredActions[0].AsFunctionCall().CallID
	gone := parts(h.ann.made("hello", "idle"))
	_, err = h.ann.sessions().Delete(w.ctx(), gone["<session>"])
	require.NoError(t, err)
	h.sessions["deleted"] = gone
	stream := w.events(h.ann.ask(asked{method: "POST", path: "/sessions", body: `{"environment":{"type":"none"},"agent":{"model":"default"},"input":"hello","stream":true}`}))
	h.event = stream[len(stream)-1].id
	require.Eventually(t, func() bool { resident, _ := w.host.System().Counts(); return resident <= 1 }, patience, 5*time.Millisecond)
	return h
}

// ask puts ids into the request, and the id of ann's event.
func (h *houseOfAnn) ask(who *person, a asked, ids map[string]string) string {
	h.t.Helper()
	if a.header.Get("Last-Event-Id") == "<event>" {
		a.header = http.Header{"Last-Event-Id": {h.event}}
	}
	return who.answer(a.with(ids))
}

// The session of another owner is answered as one that nobody has, byte for byte,
// by every route, whatever it is doing, and nothing happens to it.
func TestCase52ForeignSessionsAreAsUnknownOnes(t *testing.T) {
	h := newHouseOfAnn(t)
	missing := map[string]string{"<session>": nobodysSession, "<turn>": nobodysTurn, "<call>": nobodysCall, "<child>": nobodysChild}
	h.sessions["malformed"] = map[string]string{"<session>": "%20", "<turn>": "%00", "<call>": nobodysCall, "<child>": ".."}
	h.sessions["too long"] = map[string]string{"<session>": strings.Repeat("x", 200), "<turn>": nobodysTurn, "<call>": nobodysCall, "<child>": nobodysChild}
	before := h.digest()
	for _, a := range askedOfASession {
		want := h.ask(h.bob, a, missing)
		require.True(t, strings.HasPrefix(want, "404 Not Found\n"), "%s %s: %s", a.method, a.path, want)
		require.True(t, strings.HasSuffix(want, "\r\n"+notFound) || strings.HasSuffix(want, "\n"+notFound), want)
		for state, ids := range h.sessions {
			require.Equal(t, want, h.ask(h.bob, a, ids), "%s %s: %s", state, a.method, a.path)
		}
	}
	// What is wrong with a request is said before its session is looked at.
	for _, a := range []asked{
		{method: "POST", path: "/sessions/<session>", body: `{`},
		{method: "POST", path: "/sessions/<session>", body: `{"colour":1}`},
		{method: "POST", path: "/sessions/<session>/events", body: `{"events":null}`},
		{method: "GET", path: "/sessions/<session>/items?limit=0"},
		{method: "GET", path: "/sessions/<session>/turns?limit=x"},
		{method: "GET", path: "/sessions/<session>/events?x=y"},
		{method: "GET", path: "/sessions/<session>/artifacts"},
		{method: "PUT", path: "/sessions/<session>"},
	} {
		want := h.ask(h.bob, a, missing)
		for state, ids := range h.sessions {
			require.Equal(t, want, h.ask(h.bob, a, ids), "%s %s: %s", state, a.method, a.path)
		}
	}
	require.Equal(t, before, h.digest(), "nothing was written")
	require.Contains(t, h.log.String(), `level=WARN msg="a session of another owner was asked for" owner=bob`)
	require.NotContains(t, h.log.String(), "secret words")
	require.NotContains(t, h.log.String(), h.bob.secret)

	// ann's own requests go on as ever.
	waiting := h.sessions["waiting"]
	response := h.ann.ask(asked{method: "POST", path: "/sessions/<session>/events", body: `{"events":[` + eventResult + `]}`}.with(waiting))
	require.Equal(t, 202, response.StatusCode)
	h.ann.until(waiting["<session>"], "idle")
	busy := h.sessions["busy"]["<session>"]
	require.Equal(t, 202, h.ann.ask(asked{method: "POST", path: "/sessions/" + busy + "/events", body: `{"events":[` + eventCancel + `]}`}).StatusCode)
	h.ann.until(busy, "idle")
}

// What is another's is no part of one's own sessions, whatever names it.
func TestCase52ForeignPartsOfOnesOwnSession(t *testing.T) {
	h := newHouseOfAnn(t)
	own := h.bob.made("ask", "requires_action")
	turn := h.bob.lastTurn(own)
	foreign := map[string]string{"<own>": own, "<ownturn>": turn, "<session>": h.sessions["idle"]["<session>"],
		"<turn>": h.sessions["waiting"]["<turn>"], "<call>": h.sessions["waiting"]["<call>"], "<child>": h.sessions["idle"]["<child>"]}
	missing := map[string]string{"<own>": own, "<ownturn>": turn, "<session>": nobodysSession, "<turn>": nobodysTurn, "<call>": nobodysCall, "<child>": nobodysChild}
	malformed := map[string]string{"<own>": own, "<ownturn>": turn, "<session>": "%20", "<turn>": "%20", "<call>": "%20", "<child>": "%20"}
	before := h.digest()
	for _, path := range []string{"/turns/<turn>", "/turns/<turn>/items", "/subagents/<child>", "/subagents/<child>/items", "/subagents/<child>/turns",
		"/subagents/<child>/turns/<turn>", "/subagents/<child>/turns/<turn>/items", "/subagents/<session>", "/subagents/<session>/items"} {
		a := asked{method: "GET", path: "/sessions/<own>" + path}
		want := h.bob.answer(a.with(missing))
		require.True(t, strings.HasPrefix(want, "404") && strings.HasSuffix(want, notFound), want)
		require.Equal(t, want, h.bob.answer(a.with(foreign)), path)
		require.Equal(t, want, h.bob.answer(a.with(malformed)), path)
	}
	for _, path := range []string{"/turns?after=<turn>", "/subagents?after=<child>", "/subagents?after=<session>", "/items?after=<turn>"} {
		a := asked{method: "GET", path: "/sessions/<own>" + path}
		want := h.bob.answer(a.with(missing))
		require.True(t, strings.HasPrefix(want, "400") && strings.Contains(want, `"param":"after"`), want)
		require.Equal(t, want, h.bob.answer(a.with(foreign)), path)
		require.Equal(t, want, h.bob.answer(a.with(malformed)), path)
	}
	resume := func(id string) string {
		return h.bob.answer(asked{method: "GET", path: "/sessions/" + own + "/events", header: http.Header{"Last-Event-Id": {id}}})
	}
	require.True(t, strings.HasPrefix(resume("evt_x"), "400"))
	require.Equal(t, resume("evt_x"), resume(h.event))
	for _, result := range []string{eventResult, strings.Replace(eventResult, "<turn>", "<ownturn>", 1)} {
		a := asked{method: "POST", path: "/sessions/<own>/events", body: `{"events":[` + result + `]}`}
		given := func(ids map[string]string) string {
			return strings.ReplaceAll(h.bob.answer(a.with(ids)), ids["<call>"], "<call>")
		}
		require.True(t, strings.HasPrefix(given(missing), "400"))
		require.Contains(t, given(missing), "Unknown pending tool call: <call>")
		require.Contains(t, given(missing), "X-Should-Retry: false")
		require.Equal(t, given(missing), given(foreign))
	}
	require.Equal(t, before, h.digest(), "nothing was written")
}

// Keys of requests belong to an owner as sessions do.
func TestCase52ForeignIdempotencyKeysMeanNothing(t *testing.T) {
	h := newHouseOfAnn(t)
	made := option.WithHeader("Idempotency-Key", "made")
	id := h.bob.made("secret words", "idle", made)
	require.NotEqual(t, h.sessions["idle"]["<session>"], id)
	require.Equal(t, id, h.bob.made("secret words", "idle", made))
	other, err := h.ann.sessions().New(h.ctx(), asking("secret words"), made)
	require.NoError(t, err)
	require.Equal(t, h.sessions["idle"]["<session>"], other.ID)
	for range 2 {
		require.NoError(t, h.bob.sessions().Events.New(h.ctx(), id, saying("said", "hello")))
	}
	h.bob.until(id, "idle")
	turns, err := h.bob.sessions().Turns.List(h.ctx(), id, openai.BetaAgentSessionTurnListParams{})
	require.NoError(t, err)
	require.Len(t, turns.Data, 2)
	// A key of a deleted session binds its owner only.
	_, err = h.ann.sessions().Delete(h.ctx(), other.ID)
	require.NoError(t, err)
	var refused *openai.Error
	_, err = h.ann.sessions().New(h.ctx(), asking("secret words"), made)
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "idempotency_conflict", refused.Code)
	require.Equal(t, id, h.bob.made("secret words", "idle", made))
}

func TestCase52ListsShowNothingForeign(t *testing.T) {
	h := newHouseOfAnn(t)
	mine := []string{h.bob.made("hello", "idle"), h.bob.made("fail", "failed")}
	anns := h.sessions["idle"]["<session>"]
	for _, query := range []string{"", "limit=1", "order=asc&limit=1", "agent_id=default", "after=" + anns + "&order=asc", "after=" + nobodysSession + "&order=asc"} {
		var got []string
		pager := h.bob.sessions().ListAutoPaging(h.ctx(), openai.BetaAgentSessionListParams{}, func() []option.RequestOption {
			var all []option.RequestOption
			for pair := range strings.SplitSeq(query, "&") {
				if name, value, ok := strings.Cut(pair, "="); ok && name != "after" {
					all = append(all, option.WithQuery(name, value))
				}
			}
			return all
		}()...)
		for pager.Next() {
			got = append(got, pager.Current().ID)
		}
		require.NoError(t, pager.Err())
		require.ElementsMatch(t, mine, got, query)
		page := h.bob.answer(asked{method: "GET", path: "/sessions?" + query})
		for state, ids := range h.sessions {
			require.NotContains(t, page, ids["<session>"], "%s: %s", query, state)
		}
	}
	require.Contains(t, h.bob.answer(asked{method: "GET", path: "/sessions?metadata[a]=b"}), `"data":[]`)
	require.Contains(t, h.bob.answer(asked{method: "GET", path: "/sessions/" + mine[0] + "/subagents"}), `"data":[]`)
	require.Equal(t, h.ann.answer(asked{method: "GET", path: ""}), h.bob.answer(asked{method: "GET", path: ""}), "profiles are everybody's")
}

// By this API nobody can name an owner, so an admin has the sessions of their own
// owner as everybody else.
func TestCase52AnAdminSeesTheirOwnSessions(t *testing.T) {
	h := newHouseOfAnn(t)
	admin := h.person(api.KeyCreateArgs{Owner: "ops", Role: sessions.KeyOfAdmin})
	of := h.person(api.KeyCreateArgs{Owner: "ann", Role: sessions.KeyOfAdmin})
	missing := map[string]string{"<session>": nobodysSession, "<turn>": nobodysTurn, "<call>": nobodysCall, "<child>": nobodysChild}
	logged := len(h.log.String())
	before := h.digest()
	for _, a := range askedOfASession {
		for state, ids := range h.sessions {
			require.Equal(t, h.ask(admin, a, missing), h.ask(admin, a, ids), "%s %s: %s", state, a.method, a.path)
		}
	}
	require.Equal(t, before, h.digest())
	require.NotContains(t, h.log.String()[logged:], "another owner", "an admin may see them by other doors")
	require.Contains(t, admin.answer(asked{method: "GET", path: "/sessions"}), `"data":[]`)
	for _, state := range []string{"idle", "busy", "waiting", "failed"} {
		require.Equal(t, 200, of.ask(asked{method: "GET", path: "/sessions/" + h.sessions[state]["<session>"]}).StatusCode, state)
	}
	_, err := of.sessions().Delete(h.ctx(), h.sessions["failed"]["<session>"])
	require.NoError(t, err)
	require.Contains(t, h.ann.answer(asked{method: "GET", path: "/sessions/" + h.sessions["failed"]["<session>"]}), notFound)
	require.Contains(t, fmt.Sprint(h.digest()["sessions"]), h.sessions["idle"]["<session>"])
}
