package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/host/server"
	"agenthost/host/telemetry"
	"agenthost/oracle/scripted"
	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

var quiet = slog.New(slog.DiscardHandler)

// measured is a host with its metrics. Its store's numbers are made up.
func measured(t *testing.T, model *scripted.Oracle) *hosttest.Host {
	t.Helper()
	m := telemetry.New("1.2.3", quiet)
	h := hosttest.New(t, hosttest.Options{
		Profiles: map[string]host.Profile{sessions.DefaultProfile: {Oracle: model, Tools: hosttest.AllTools()}},
		Config:   host.Config{Observer: m}, Server: server.Config{Observer: m, Metrics: m}, Store: sqlite.Config{Observer: m},
	})
	m.Watch(h.Host, func(context.Context) (telemetry.StoreNumbers, error) {
		return telemetry.StoreNumbers{Waiting: 3, DatabaseBytes: 4096, JournalBytes: 512, Unheard: 2}, nil
	}, quiet)
	return h
}

// scrape asks a host for its metrics.
func scrape(t *testing.T, h *hosttest.Host) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+"/metrics", nil)
	require.NoError(t, err)
	answer, err := new(http.Transport).RoundTrip(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Contains(t, answer.Header.Get("Content-Type"), "text/plain")
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(text)
}

// show is what a handler shows.
func show(m *telemetry.Metrics) string {
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

func TestMetricsOfAHostAtWork(t *testing.T) {
	const secret = "xylophone"
	h := measured(t, scripted.Play(scripted.Script{Rules: []scripted.Rule{
		{When: "tool", Steps: []scripted.Step{
			{Calls: []scripted.Call{{Path: "/builtin/echo", Args: `{"text":"` + secret + `"}`}, {Path: "/test/" + secret}}, Usage: &sessions.Usage{InputTokens: 7}},
			{Text: secret},
		}},
		{When: "fail", Steps: []scripted.Step{{Fail: secret}}},
		{When: "hang", Steps: []scripted.Step{{Hang: true}}},
	}}))
	at := api.Address{SessionID: secret + "-session"}
	_, err := h.SessionCreate(t.Context(), &api.SessionCreateArgs{Address: at})
	require.NoError(t, err)
	prompt := func(text string, id sessions.RequestID, wait api.Wait) error {
		_, err := h.Prompt(t.Context(), &api.PromptArgs{Address: at, Text: text + secret, RequestID: id, Wait: wait}, nil)
		return err
	}
	require.NoError(t, prompt("tool", "one", ""))
	require.NoError(t, prompt("tool", "one", ""))
	require.Equal(t, sessions.CodeLLMAPIFailure, sessions.CodeOf(prompt("fail", "two", "")))
	require.NoError(t, prompt("hang", "three", api.WaitAccepted))
	require.Equal(t, sessions.CodeAgentBusy, sessions.CodeOf(prompt("tool", "four", "")))
	sub, err := h.Subscribe(t.Context(), &api.SubscribeArgs{Address: at})
	require.NoError(t, err)
	_, gone := h.Post(api.OpSessionGet, api.SessionGetArgs{Address: api.Address{SessionID: "nobody"}})
	require.Equal(t, sessions.CodeSessionNotFound, hosttest.Code(gone))

	text := scrape(t, h)
	for _, line := range []string{
		`agenthost_prompts_total{outcome="accepted"} 3`,
		`agenthost_prompts_total{outcome="duplicate"} 1`,
		`agenthost_prompts_total{outcome="busy"} 1`,
		`agenthost_prompts_total{outcome="overloaded"} 0`,
		`agenthost_turns_started_total{origin="prompt"} 3`,
		`agenthost_turns_ended_total{code="",status="completed"} 1`,
		`agenthost_turns_ended_total{code="LLM_API_FAILURE",status="failed"} 1`,
		`agenthost_turn_seconds_count{status="completed"} 1`,
		`agenthost_turns_busy 1`,
		`agenthost_sessions_resident 1`,
		`agenthost_model_call_seconds_count{oracle="scripted",outcome="ok"} 2`,
		`agenthost_model_call_seconds_count{oracle="scripted",outcome="failed"} 1`,
		`agenthost_model_tokens_total{kind="input",oracle="scripted"} 7`,
		`agenthost_tool_call_seconds_count{outcome="ok",path="/builtin/echo"} 1`,
		`agenthost_subscriptions_open 1`,
		`agenthost_store_waiting_writes 3`,
		`agenthost_unheard_deletes 2`,
		`agenthost_http_requests_total{door="call",status="404"} 1`,
		`agenthost_operations_total{code="SESSION_NOT_FOUND",op="$sessionGet"} 1`,
	} {
		require.Contains(t, text, line+"\n")
	}
	require.Contains(t, text, `agenthost_build_info{go_version="go`)
	require.Regexp(t, `agenthost_store_commit_seconds_count [1-9]`, text)
	require.Contains(t, text, "process_start_time_seconds")
	require.NotContains(t, text, secret, "no ids, paths that a model made up, or content")

	sub.Close()
	_, err = h.SessionDelete(t.Context(), &api.SessionDeleteArgs{Address: at})
	require.NoError(t, err)
	text = scrape(t, h)
	for _, line := range []string{
		`agenthost_subscriptions_ended_total{reason="left"} 1`,
		`agenthost_turns_ended_total{code="SESSION_DELETED",status="dropped"} 1`,
		`agenthost_model_call_seconds_count{oracle="scripted",outcome="cut"} 1`,
		`agenthost_deletes_total{kind="session"} 1`,
		`agenthost_deleted_sessions_total 1`,
	} {
		require.Contains(t, text, line+"\n")
	}
	require.Regexp(t, `agenthost_deleted_rows_total [1-9]`, text)
}

// A turn that a stop cuts is dropped, and begins again at the next start; what is
// beyond the limit of the host is no turn.
func TestTurnsOverARestartAndBeyondTheLimit(t *testing.T) {
	m := telemetry.New("1", quiet)
	model := scripted.Strict(scripted.New(scripted.Step{Hang: true}))
	h := hosttest.New(t, hosttest.Options{
		Profiles: map[string]host.Profile{sessions.DefaultProfile: {Oracle: model}},
		Config:   host.Config{Observer: m, Limits: sessions.Limits{BusyTurns: 1}},
	})
	prompt := func(key string) error {
		_, err := h.Prompt(t.Context(), &api.PromptArgs{Address: api.Address{TargetKey: key}, Text: "go", Wait: api.WaitAccepted}, nil)
		return err
	}
	require.NoError(t, prompt("a"))
	require.Equal(t, sessions.CodeOverloaded, sessions.CodeOf(prompt("b")))
	require.NoError(t, model.Await(t.Context(), 1))
	h.Restart()
	require.NoError(t, model.Await(t.Context(), 2)) // the turn is taken up beside the start
	text := show(m)
	for _, line := range []string{
		`agenthost_prompts_total{outcome="accepted"} 1`,
		`agenthost_prompts_total{outcome="overloaded"} 1`,
		`agenthost_turns_started_total{origin="prompt"} 1`,
		`agenthost_turns_started_total{origin="restart"} 1`,
		`agenthost_turns_ended_total{code="HOST_STOPPING",status="dropped"} 1`,
	} {
		require.Contains(t, text, line+"\n")
	}
}

// The table has all metrics that a host shows, and no others.
func TestTableIsWhatAHostShows(t *testing.T) {
	h := measured(t, scripted.New(scripted.Step{Calls: []scripted.Call{{Path: "/builtin/time"}}}, scripted.Step{Text: "done"}, scripted.Step{Text: "because"}))
	_, err := h.Prompt(t.Context(), &api.PromptArgs{Address: api.Address{TargetKey: "k"}, Text: "go"}, nil)
	require.NoError(t, err)
	_, err = h.SideQuestion(t.Context(), &api.SideQuestionArgs{Address: api.Address{TargetKey: "k"}, Question: "why?"})
	require.NoError(t, err)
	h.Post(api.OpPing, api.PingArgs{})

	shown := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^# TYPE (agenthost_\w+) (\w+)$`).FindAllStringSubmatch(scrape(t, h), -1) {
		shown[match[1]] = match[2]
	}
	described := map[string]string{}
	for _, d := range telemetry.Descriptions() {
		described[d.Name] = string(d.Kind)
		require.NotEmpty(t, d.Help)
		for _, label := range d.Labels {
			require.NotRegexp(t, `session|turn|request|owner|key|user`, label)
		}
	}
	require.Equal(t, described, shown)
}

// Whatever comes, the number of series has a bound: one more of everything makes
// no new one.
func TestSeriesAreBounded(t *testing.T) {
	m := telemetry.New("1", quiet)
	feed := func(from, to int) {
		for i := from; i < to; i++ {
			name := fmt.Sprintf("name-%d", i)
			m.ToolCalled("/tools/"+name, actors.CallSucceeded, time.Second)
			m.ModelCalled(name, actors.CallFailed, sessions.Usage{}, time.Second)
			m.SideAsked(name, actors.CallFailed, sessions.Usage{}, time.Second)
			m.TurnEnded(sessions.TurnIsFailed, sessions.Code(name), time.Second)
			m.Done(api.OpPing, sessions.Code(name), time.Second)
		}
	}
	series := func() int { return strings.Count(show(m), "\n") }
	feed(0, 1000)
	before := series()
	feed(1000, 5000)
	m.ToolCalled("/tools/name-0", actors.CallSucceeded, time.Second)
	require.InDelta(t, before, series(), 10, "only the collectors of the runtime may show more")
	require.Contains(t, show(m), `path="other"`)
	require.Contains(t, show(m), `oracle="other"`)
	require.Contains(t, show(m), `agenthost_turns_ended_total{code="other",status="failed"} 5000`)
	require.Contains(t, show(m), `agenthost_tool_call_seconds_count{outcome="ok",path="/tools/name-0"} 2`)
	paths := regexp.MustCompile(`path="([^"]+)"`).FindAllString(show(m), -1)
	slices.Sort(paths)
	require.Len(t, slices.Compact(paths), 201)
}

// A store that fails leaves out its numbers and nothing else.
func TestStoreThatTellsNoNumbers(t *testing.T) {
	m := telemetry.New("1", quiet)
	h := hosttest.New(t, hosttest.Options{Config: host.Config{Observer: m}})
	m.Watch(h.Host, func(context.Context) (telemetry.StoreNumbers, error) {
		return telemetry.StoreNumbers{}, errors.New("no")
	}, quiet)
	text := show(m)
	require.Contains(t, text, "agenthost_turns_busy 0\n")
	require.NotContains(t, text, "agenthost_store_database_bytes")
}
