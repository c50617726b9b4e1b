package agentsv1

import (
	"context"
	"log/slog"
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
	"agenthost/host/api"
	"agenthost/host/server"
	"agenthost/oracle"
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
	fit    fitting
	watch  *watch
	stop   func() // ends the host and its doors
}

// fitting says what is special about a world.
type fitting struct {
	limits sessions.Limits
	log    *slog.Logger
	tools  *tools.Tree                            // nil for those that every host has
	wrap   func(sessions.Store) sessions.Store    // nil leaves the store alone
	fit    func(profiles map[string]host.Profile) // nil leaves the one profile alone
}

func newWorld(t *testing.T, script oracle.Oracle) *world {
	t.Helper()
	return newFitted(t, script, fitting{})
}

func newFitted(t *testing.T, script oracle.Oracle, fit fitting) *world {
	t.Helper()
	w := &world{t: t, file: filepath.Join(t.TempDir(), "agenthost.db"), fit: fit}
	w.open(script)
	t.Cleanup(func() { w.stop() })
	return w
}

// open starts a host on the world's file, with doors that know its keys as those of
// the command do.
func (w *world) open(script oracle.Oracle) {
	w.t.Helper()
	t := w.t
	store, err := sqlite.Open(t.Context(), w.file, sqlite.Config{Durability: sqlite.DurabilityProcess})
	require.NoError(t, err)
	var kept sessions.Store = store
	if w.fit.wrap != nil {
		kept = w.fit.wrap(store)
	}
	tree := w.fit.tools
	if tree == nil {
		tree = &tools.Tree{}
		require.NoError(t, tools.MountBuiltins(tree, time.Now))
	}
	profiles := map[string]host.Profile{sessions.DefaultProfile: {Oracle: script, Tools: []string{"/builtin"}, IdleTTL: 10 * time.Millisecond}}
	if w.fit.fit != nil {
		w.fit.fit(profiles)
	}
	w.host, err = host.New(kept, profiles, host.Config{Tools: tree, StopGrace: 100 * time.Millisecond, Limits: w.fit.limits, Logger: w.fit.log})
	require.NoError(t, err)
	require.NoError(t, w.host.Start(t.Context()))
	authenticate := server.Bearer(w.host.Admit)
	var doors *server.Server
	stay := func(ctx context.Context, caller api.Caller) (context.Context, context.CancelFunc, error) {
		return doors.Stay(ctx, caller)
	}
	doors = server.New(server.For(w.host), server.Config{Authenticate: authenticate, Readmit: w.host.Readmit,
		Agents: face.New(w.host, face.Config{Authenticate: authenticate, Stay: stay, Limits: w.fit.limits})})
	w.host.OnKeys(doors.Recheck)
	if w.watch == nil {
		w.watch = newWatch(t)
	}
	http := httptest.NewServer(w.watch.over(doors))
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
