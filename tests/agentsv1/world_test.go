package agentsv1

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"agenthost/host"
	face "agenthost/host/agentsv1"
	"agenthost/host/server"
	"agenthost/oracle/scripted"
	"agenthost/persistence/sqlite"
	"agenthost/sessions"
	"agenthost/tools"
)

const patience = 20 * time.Second

// world is a host with its doors open, and the SDK that drives it.
type world struct {
	t      *testing.T
	host   *host.Host
	client openai.Client
	url    string
	file   string
	stop   func() // ends the host and its doors
}

func newWorld(t *testing.T, script *scripted.Oracle) *world {
	t.Helper()
	w := &world{t: t, file: filepath.Join(t.TempDir(), "agenthost.db")}
	w.open(script)
	t.Cleanup(func() { w.stop() })
	return w
}

// open starts a host on the world's file.
func (w *world) open(script *scripted.Oracle) {
	w.t.Helper()
	t := w.t
	store, err := sqlite.Open(t.Context(), w.file, sqlite.Config{Durability: sqlite.DurabilityProcess})
	require.NoError(t, err)
	tree := &tools.Tree{}
	require.NoError(t, tools.MountBuiltins(tree, time.Now))
	profiles := map[string]host.Profile{sessions.DefaultProfile: {Oracle: script, Tools: []string{"/builtin"}, IdleTTL: 10 * time.Millisecond}}
	w.host, err = host.New(store, profiles, host.Config{Tools: tree, StopGrace: 100 * time.Millisecond})
	require.NoError(t, err)
	require.NoError(t, w.host.Start(t.Context()))
	doors := server.New(server.For(w.host), server.Config{Agents: face.New(w.host, face.Config{})})
	http := httptest.NewServer(doors)
	w.url = http.URL
	w.client = openai.NewClient(option.WithBaseURL(http.URL+"/v1"), option.WithAPIKey("any"))
	w.stop = sync.OnceFunc(func() {
		http.CloseClientConnections()
		w.host.Stop()
		http.Close()
	})
}

// ctx is the test's, for as long as anything may take.
func (w *world) ctx() context.Context {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	w.t.Cleanup(cancel)
	return ctx
}

// sessions is the SDK's way to sessions.
func (w *world) sessions() *openai.BetaAgentSessionService { return &w.client.Beta.Agents.Sessions }

// body is a session without an environment that the default profile answers.
func body(input string) openai.BetaAgentSessionNewParams {
	p := openai.BetaAgentSessionNewParams{
		Environment: openai.EnvironmentParamUnion{OfParamNone: &openai.EnvironmentParamNone{}},
		Agent:       openai.BetaAgentSessionNewParamsAgent{Model: openai.String("default")},
	}
	if input != "" {
		p.Input = openai.BetaAgentSessionNewParamsInputUnion{OfString: openai.String(input)}
	}
	return p
}

// until asks again until a session has a status.
func (w *world) until(id string, status openai.AgentSessionStatus) *openai.AgentSession {
	w.t.Helper()
	var got *openai.AgentSession
	require.Eventually(w.t, func() bool {
		s, err := w.sessions().Get(w.ctx(), id)
		got = s
		return err == nil && s.Status == status
	}, patience, 5*time.Millisecond)
	return got
}

// plain makes a request without the SDK.
func (w *world) plain(method, path, text string, header http.Header) *http.Response {
	w.t.Helper()
	return send(w, method, path, text, header)
}
