package agentsv1

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/sessions"
)

// person is the holder of a key.
type person struct {
	w      *world
	secret string
	key    api.KeyInfo
	client openai.Client
}

// person makes a key.
func (w *world) person(args api.KeyCreateArgs) *person {
	w.t.Helper()
	made, err := w.host.KeyCreate(w.ctx(), &args)
	require.NoError(w.t, err)
	return &person{w, made.Secret, made.Key, openai.NewClient(option.WithBaseURL(w.url+"/v1"), option.WithAPIKey(made.Secret))}
}

func (p *person) sessions() *openai.BetaAgentSessionService { return &p.client.Beta.Agents.Sessions }

// caller is the person as the host knows them.
func (p *person) caller() api.Caller {
	return api.Caller{Owner: p.key.Owner, Admin: p.key.Role == sessions.KeyOfAdmin, Key: p.key.ID}
}

// made makes a session with an input, and waits for its status.
func (p *person) made(input string, status openai.AgentSessionStatus, options ...option.RequestOption) string {
	p.w.t.Helper()
	s, err := p.sessions().New(p.w.ctx(), asking(input), options...)
	require.NoError(p.w.t, err)
	p.until(s.ID, status)
	return s.ID
}

func (p *person) until(id string, status openai.AgentSessionStatus) *openai.AgentSession {
	p.w.t.Helper()
	var got *openai.AgentSession
	require.Eventually(p.w.t, func() bool {
		s, err := p.sessions().Get(p.w.ctx(), id)
		got = s
		return err == nil && s.Status == status
	}, patience, 5*time.Millisecond)
	return got
}

// lastTurn is the id of a session's newest turn.
func (p *person) lastTurn(id string) string {
	p.w.t.Helper()
	turns, err := p.sessions().Turns.List(p.w.ctx(), id, openai.BetaAgentSessionTurnListParams{})
	require.NoError(p.w.t, err)
	require.NotEmpty(p.w.t, turns.Data)
	return turns.Data[0].ID
}

// asked is one request to the API.
type asked struct {
	method, path, body string
	header             http.Header
}

// with puts ids into the places of a request that are named so.
func (a asked) with(ids map[string]string) asked {
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		a.path = strings.ReplaceAll(a.path, name, ids[name])
		a.body = strings.ReplaceAll(a.body, name, ids[name])
	}
	return a
}

func (p *person) ask(a asked) *http.Response {
	p.w.t.Helper()
	header := http.Header{"Authorization": {"Bearer " + p.secret}}
	maps.Copy(header, a.header)
	return p.w.plain(a.method, "/v1/agents"+a.path, a.body, header)
}

// answer is all of an answer that may tell anything: status, headers but those that
// differ each time, and body.
func (p *person) answer(a asked) string {
	p.w.t.Helper()
	return wholeOf(p.w, p.ask(a))
}

func wholeOf(w *world, response *http.Response) string {
	w.t.Helper()
	require.NotEqual(w.t, "text/event-stream", response.Header.Get("Content-Type"), "a stream has no end")
	require.Regexp(w.t, "^req_[0-9a-f]{32}$", response.Header.Get("X-Request-Id"))
	header := response.Header.Clone()
	header.Del("Date")
	header.Del("X-Request-Id")
	var all bytes.Buffer
	all.WriteString(response.Status + "\n")
	require.NoError(w.t, header.Write(&all))
	_, err := io.Copy(&all, response.Body)
	require.NoError(w.t, err)
	return all.String()
}
