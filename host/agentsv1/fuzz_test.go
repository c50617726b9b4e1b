package agentsv1_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/agentsv1"
	"agenthost/host/api"
	"agenthost/oracle/scripted"
	"agenthost/persistence/memory"
	"agenthost/sessions"
	"agenthost/tools"
)

// asked is a host in memory with a session that has had a turn.
type asked struct {
	host    *host.Host
	handler *agentsv1.Handler
	id      sessions.SessionID
	event   string // the id of one of its events
	log     bytes.Buffer
	left    int // requests until there is a fresh one
}

func newAsked(t *testing.T) *asked {
	t.Helper()
	script := scripted.Play(scripted.Script{Rules: []scripted.Rule{{Steps: []scripted.Step{
		{Deltas: []scripted.Delta{{Text: "let "}, {Text: "me look"}}, Calls: []scripted.Call{{Path: "/builtin/echo", Args: `{"text":"x"}`}}}, {Text: "it rains"}}}}})
	tree := &tools.Tree{}
	require.NoError(t, tools.MountBuiltins(tree, time.Now))
	profiles := map[string]host.Profile{sessions.DefaultProfile: {Oracle: script, Tools: []string{"/builtin"}}}
	h, err := host.New(memory.New(memory.Config{}), profiles, host.Config{Tools: tree, StopGrace: time.Millisecond})
	require.NoError(t, err)
	ctx := context.WithoutCancel(t.Context()) // it serves other inputs too
	require.NoError(t, h.Start(ctx))
	a := &asked{host: h, left: 1000}
	a.handler = agentsv1.New(h, agentsv1.Config{Logger: slog.New(slog.NewTextHandler(&a.log, &slog.HandlerOptions{Level: slog.LevelError}))})
	answer := a.ask(ctx, "POST", "/v1/agents/sessions", "", `{"environment":{"type":"none"},"agent":{"model":"default"},"input":"hi","stream":true}`, "application/json")
	require.Equal(t, 200, answer.Code)
	a.event = idOf(answer.Body.String(), "id: ")
	a.id = sessions.SessionID(strings.Trim(idOf(answer.Body.String(), `"session_id":"`), `"`))
	require.NotEmpty(t, a.event)
	require.NotEmpty(t, a.id)
	return a
}

// idOf returns what follows a mark that comes for the fifth time or earlier.
func idOf(text, mark string) (id string) {
	for i, part := range strings.Split(text, mark) {
		if i > 0 && i < 6 {
			id, _, _ = strings.Cut(part, "\n")
			id, _, _ = strings.Cut(id, `"`)
		}
	}
	return id
}

// ask has the handler answer one request.
func (a *asked) ask(ctx context.Context, method, target, last, body, kind string) *httptest.ResponseRecorder {
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return nil
	}
	r := (&http.Request{Method: method, URL: u, RequestURI: target, Host: "localhost", Header: http.Header{"Openai-Beta": {"agents=v1"}},
		ContentLength: int64(len(body))}).WithContext(ctx)
	r.Body = http.NoBody
	if body != "" {
		r = r.Clone(ctx)
		r.Body = readCloser{strings.NewReader(body)}
		r.Header.Set("Content-Type", kind)
	}
	if last != "" {
		r.Header["Last-Event-Id"] = []string{last}
	}
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, r)
	return w
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

// FuzzRequests takes texts as all that a request is made of. Nothing panics, nothing
// is a fault of the host, and every refusal has the form of the API's errors.
func FuzzRequests(f *testing.F) {
	const create = `{"environment":{"type":"none"},"agent":{"model":"default","tools":[{"type":"function","name":"look","parameters":{"type":"object"}}]},"input":"hi","metadata":{"a":"b"}}`
	for _, method := range []string{"GET", "POST", "DELETE", "HEAD"} {
		for _, path := range []string{"", "/x", "/sessions", "/sessions/{id}", "/sessions/{id}/events", "/sessions/{id}/items?limit=1&order=asc", "/sessions/{id}/turns", "/sessions/{id}/turns/x/items",
			"/sessions/{id}/subagents/x/turns", "/sessions?metadata[a]=b&after={id}", "/openapi.yaml", "/%2e%2e/%00"} {
			f.Add(method, "/v1/agents"+path, "", "application/json", "{}")
		}
	}
	f.Add("GET", "/v1/agents/sessions/{id}/events", "{event}", "", "")
	f.Add("GET", "/v1/agents/sessions/{id}/events", "evt_AQECAwAA", "", "")
	f.Add("POST", "/v1/agents/sessions", "", "application/json", create)
	f.Add("POST", "/v1/agents", "", "application/json; charset=utf-8", `{"name":"n","model":"default","instructions":"\u0000"}`)
	f.Add("POST", "/v1/agents/sessions/{id}", "", "application/json", `{"metadata":{"a":"b"}}`)
	f.Add("POST", "/v1/agents/sessions/{id}/events", "", "application/json", `{"events":[{"type":"agent.session.input.cancel"},{"type":"agent.session.input.message","input":[{"role":"user","content":[{"type":"input_text","text":"x"}]}]}]}`)
	f.Add("POST", "/v1/agents/sessions/{id}/events", "", "application/json", `{"events":[{"type":"agent.session.input.tool_result","call_id":"c","turn_id":"t","success":true,"output":"x"}]}`)
	var a *asked
	f.Fuzz(func(t *testing.T, method, target, last, kind, body string) {
		if a == nil || a.left == 0 {
			if a != nil {
				a.host.Stop()
			}
			a = newAsked(t)
		}
		a.left--
		if _, err := a.host.SessionGet(t.Context(), &api.SessionGetArgs{Address: api.Address{SessionID: a.id}}); err != nil {
			a.left = 0 // it was deleted
			return
		}
		target = strings.ReplaceAll(target, "{id}", string(a.id))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Millisecond) // a stream has no other end
		defer cancel()
		answer := a.ask(ctx, method, target, strings.ReplaceAll(last, "{event}", a.event), body, kind)
		require.Empty(t, a.log.String())
		if answer == nil {
			return // net/http refuses the target
		}
		require.Less(t, answer.Code, 500, answer.Body.String())
		require.Regexp(t, "^req_[0-9a-f]{32}$", answer.Header().Get("X-Request-Id"))
		if answer.Code >= 400 {
			requireError(t, answer.Body.Bytes())
		}
	})
}

func requireError(t *testing.T, text []byte) {
	t.Helper()
	var body struct {
		Error *struct {
			Message, Type, Code *string
			Param               json.RawMessage
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&body), "%s", text)
	require.NotNil(t, body.Error, "%s", text)
	for _, member := range []*string{body.Error.Message, body.Error.Type, body.Error.Code} {
		require.NotNil(t, member, "%s", text)
		require.NotEmpty(t, *member)
	}
	require.NotEmpty(t, body.Error.Param, "null is written out")
}
