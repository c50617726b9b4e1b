package agentsv1

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"agenthost/oracle/scripted"
)

// lossy is a proxy before a host that loses answers: the host has done what was
// asked, and the client sees a connection that breaks.
type lossy struct {
	lose   atomic.Int64 // how many answers are still to be lost, but for those to GET
	passed atomic.Int64 // requests that came, but for GET
}

// through returns a client whose way to the host is the proxy.
func (w *world) through(p *lossy) openai.Client {
	w.t.Helper()
	target, err := url.Parse(w.url)
	require.NoError(w.t, err)
	forward := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			forward.ServeHTTP(out, r)
			return
		}
		p.passed.Add(1)
		if p.lose.Add(-1) < 0 {
			forward.ServeHTTP(out, r)
			return
		}
		forward.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}))
	w.t.Cleanup(server.Close)
	return openai.NewClient(option.WithBaseURL(server.URL+"/v1"), option.WithAPIKey("any"))
}

// saying is an event with a message, under an idempotency key.
func saying(key, text string) openai.BetaAgentSessionEventNewParams {
	return openai.BetaAgentSessionEventNewParams{IdempotencyKey: openai.String(key), Events: []openai.AgentSessionInputParamUnion{
		openai.AgentSessionInputParamOfParamAgentSessionInputMessage([]openai.AgentSessionInputMessageParam{{
			Content: []openai.InputContentParamUnion{openai.InputContentParamOfParamInputText(text)}}})}}
}

// requireTurns requires that a session has had so many turns.
func (w *world) requireTurns(id string, n int) {
	w.t.Helper()
	turns, err := w.sessions().Turns.List(w.ctx(), id, openai.BetaAgentSessionTurnListParams{})
	require.NoError(w.t, err)
	require.Len(w.t, turns.Data, n)
}

func TestCase01TheAnswerIsLostAfterTheCommit(t *testing.T) {
	w := newWorld(t, everyState())
	p := &lossy{}
	client := w.through(p)
	p.lose.Store(2) // as often as the SDK tries again
	made, err := client.Beta.Agents.Sessions.New(w.ctx(), asking("hello"), option.WithHeader("Idempotency-Key", "create"))
	require.NoError(t, err)
	require.EqualValues(t, 3, p.passed.Load())
	w.until(made.ID, "idle")
	w.requireTurns(made.ID, 1)
	list, err := w.sessions().List(w.ctx(), openai.BetaAgentSessionListParams{})
	require.NoError(t, err)
	require.Len(t, list.Data, 1)

	p.lose.Store(2)
	require.NoError(t, client.Beta.Agents.Sessions.Events.New(w.ctx(), made.ID, saying("event", "hello again")))
	require.EqualValues(t, 6, p.passed.Load())
	w.until(made.ID, "idle")
	w.requireTurns(made.ID, 2)

	p.lose.Store(2)
	gone, err := client.Beta.Agents.Sessions.Delete(w.ctx(), made.ID)
	require.NoError(t, err, "a DELETE may be repeated as it is")
	require.True(t, gone.Deleted)
	require.EqualValues(t, 9, p.passed.Load())
}

func TestCase02TheSameKeyWhileTheTurnRuns(t *testing.T) {
	w := newWorld(t, everyState())
	id := w.made("hello", "idle")
	require.NoError(t, w.sessions().Events.New(w.ctx(), id, saying("k", "hang")))
	w.until(id, "in_progress")
	require.NoError(t, w.sessions().Events.New(w.ctx(), id, saying("k", "hang")))
	w.requireTurns(id, 2)
	w.cancel(id)
	w.until(id, "idle")
	require.NoError(t, w.sessions().Events.New(w.ctx(), id, saying("k2", "hello")))
	require.Eventually(t, func() bool {
		turns, err := w.sessions().Turns.List(w.ctx(), id, openai.BetaAgentSessionTurnListParams{})
		return err == nil && len(turns.Data) == 3 && turns.Data[0].Status == "completed"
	}, patience, 5*time.Millisecond)
}

func TestCase03ManyIdenticalCreatesAtOnce(t *testing.T) {
	w := newWorld(t, everyState())
	key := option.WithHeader("Idempotency-Key", "k")
	ids := make([]string, 50)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			made, err := w.sessions().New(w.ctx(), asking("hello"), key)
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = made.ID
		})
	}
	all.Wait()
	for _, id := range ids {
		require.Equal(t, ids[0], id)
	}
	w.until(ids[0], "idle")
	w.requireTurns(ids[0], 1)
	_, err := w.sessions().New(w.ctx(), asking("other"), key)
	var refused *openai.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "idempotency_conflict", refused.Code)
}

func TestCase04TheSameKeyAfterTheTurnAnEvictionAndARestart(t *testing.T) {
	w := newWorld(t, everyState())
	key := option.WithHeader("Idempotency-Key", "create")
	made, err := w.sessions().New(w.ctx(), asking("hello"), key)
	require.NoError(t, err)
	w.until(made.ID, "idle")
	again := func() {
		t.Helper()
		repeated, err := w.sessions().New(w.ctx(), asking("hello"), key)
		require.NoError(t, err)
		require.Equal(t, made.ID, repeated.ID)
		require.NoError(t, w.sessions().Events.New(w.ctx(), made.ID, saying("event", "hello again")))
		w.until(made.ID, "idle")
		w.requireTurns(made.ID, 2)
	}
	again()
	require.Eventually(t, func() bool { resident, _ := w.host.System().Counts(); return resident == 0 }, patience, 5*time.Millisecond)
	again()
	w.stop()
	w.open(everyState())
	again()
}

func TestCase05TheSameKeyOverAnotherConnection(t *testing.T) {
	w := newWorld(t, everyState())
	id := w.made("hello", "idle")
	for range 3 {
		client := openai.NewClient(option.WithBaseURL(w.url+"/v1"), option.WithAPIKey("any"), option.WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}))
		require.NoError(t, client.Beta.Agents.Sessions.Events.New(w.ctx(), id, saying("k", "hello again")))
	}
	w.until(id, "idle")
	w.requireTurns(id, 2)
}

func TestCase06TheSameCreateWhileItsTurnRuns(t *testing.T) {
	w := newWorld(t, everyState())
	key := option.WithHeader("Idempotency-Key", "k")
	first, err := w.sessions().New(w.ctx(), asking("hang"), key)
	require.NoError(t, err)
	w.until(first.ID, "in_progress")
	second, err := w.sessions().New(w.ctx(), asking("hang"), key)
	require.NoError(t, err)
	require.Equal(t, first.ID, second.ID)
	w.cancel(second.ID)
	w.until(first.ID, "idle")
	w.requireTurns(first.ID, 1)
}

// The SDK's own calls of a function tool go on when the answer to a result is lost.
func TestAResultWhoseAnswerIsLost(t *testing.T) {
	call := scripted.Call{Path: "/functions/look", Args: `{}`}
	w := newWorld(t, scripted.Play(scripted.Script{Rules: []scripted.Rule{{Steps: []scripted.Step{{Calls: []scripted.Call{call}}, {Text: "seen"}}}}}))
	p := body("hi")
	p.Agent.Tools = []openai.AgentToolParamUnion{{OfParamFunction: &openai.AgentToolParamFunction{
		Name: "look", Description: "Looks.", Parameters: map[string]any{"type": "object"}}}}
	made, err := w.sessions().New(w.ctx(), p)
	require.NoError(t, err)
	action := w.until(made.ID, "requires_action").RequiredActions[0].AsFunctionCall()
	proxy := &lossy{}
	proxy.lose.Store(2)
	client := w.through(proxy)
	require.NoError(t, client.Beta.Agents.Sessions.Events.New(w.ctx(), made.ID, openai.BetaAgentSessionEventNewParams{
		IdempotencyKey: openai.String("result"), Events: []openai.AgentSessionInputParamUnion{{
			OfParamAgentSessionInputToolResult: &openai.AgentSessionInputParamAgentSessionInputToolResult{CallID: action.CallID, TurnID: action.TurnID,
				Success: true, Output: openai.AgentFunctionCallOutputParamUnion{OfString: openai.String("x")}}}}}))
	require.EqualValues(t, 3, proxy.passed.Load())
	w.until(made.ID, "idle")
	w.requireTurns(made.ID, 1)
}
