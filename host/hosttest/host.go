package hosttest

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/client"
	"agenthost/host/server"
	"agenthost/oracle/offline"
	"agenthost/persistence/sqlite"
	"agenthost/sessions"
	"agenthost/tools"
)

// Patience is how long anything of this package waits before the test fails.
const Patience = 20 * time.Second

// stopGrace is how long turns may go on at a stop: short, since a test that
// leaves one behind has seen what it wanted to.
const stopGrace = 100 * time.Millisecond

// ToolRoot is where tools of a test are best mounted: see AllTools.
const ToolRoot = "/test"

// AllTools is what the default profile allows: what is mounted for its target,
// below /builtin and below ToolRoot.
func AllTools() []string { return []string{tools.TargetEntry, "/builtin", ToolRoot} }

// Options say what is special about a host. The zero value is a host with the
// profile "default", answered by the offline oracle with AllTools, and the
// built-in tools.
type Options struct {
	Profiles map[string]host.Profile
	// Config is passed on; Tools, StopGrace and Version have defaults of their own.
	Config host.Config
	// Server is passed on; Limits default to those of Config.
	Server server.Config
	// Keys has the doors ask for keys as those of the command do, instead of
	// Server.Authenticate and Readmit. The host's own Client sends none.
	Keys bool
	// File is the store's; "" makes one in a temporary folder.
	File string
	// Store is passed on, but for its durability and its log.
	Store sqlite.Config
	// WrapStore, if not nil, may put something between the host and its store.
	WrapStore func(sessions.Store) sessions.Store
}

// Host is a running host with its doors open.
type Host struct {
	*host.Host                // another one after each Restart
	Client     *client.Client // stays valid over restarts
	URL        string         // "http://127.0.0.1:…", the same over restarts
	File       string         // of the store

	t       testing.TB
	options Options
	http    *http.Client
	sockets []*Socket
	close   func()
}

// New starts a host that ends with the test.
func New(t testing.TB, o Options) *Host {
	t.Helper()
	h := &Host{t: t, File: o.File, http: &http.Client{Transport: &http.Transport{}}}
	if h.File == "" {
		h.File = filepath.Join(t.TempDir(), "agenthost.db")
	}
	h.options = withDefaults(t, o)
	h.start("127.0.0.1:0")
	var err error
	h.Client, err = client.Dial(t.Context(), h.URL, client.Config{})
	require.NoError(t, err)
	t.Cleanup(func() {
		h.Client.Close()
		h.http.CloseIdleConnections()
		h.Stop()
	})
	return h
}

func withDefaults(t testing.TB, o Options) Options {
	if o.Config.Tools == nil {
		o.Config.Tools = &tools.Tree{}
		now := o.Config.Now
		if now == nil {
			now = time.Now
		}
		require.NoError(t, tools.MountBuiltins(o.Config.Tools, now))
	}
	if o.Profiles == nil {
		o.Profiles = map[string]host.Profile{sessions.DefaultProfile: {Oracle: offline.New(), Tools: AllTools()}}
	}
	if o.Config.StopGrace == 0 {
		o.Config.StopGrace = stopGrace
	}
	if o.Config.Version == "" {
		o.Config.Version = "0.0.0-test"
	}
	if o.Server.Limits == (sessions.Limits{}) {
		o.Server.Limits = o.Config.Limits
	}
	return o
}

// start opens the store and the doors.
func (h *Host) start(address string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.t.Context()), Patience)
	defer cancel()
	// A kill is the worst that may happen to this store, and syncing every write
	// would take most of the time of a test.
	var store sessions.Store
	config := h.options.Store
	config.Durability, config.Logger = sqlite.DurabilityProcess, slog.New(slog.DiscardHandler)
	store, err := sqlite.Open(ctx, h.File, config)
	require.NoError(h.t, err)
	if h.options.WrapStore != nil {
		store = h.options.WrapStore(store)
	}
	h.Host, err = host.New(store, h.options.Profiles, h.options.Config)
	require.NoError(h.t, err)
	require.NoError(h.t, h.Start(ctx))
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	require.NoError(h.t, err)
	h.URL = "http://" + listener.Addr().String()
	h.close = h.serve(listener)
}

// serve opens the doors and returns what closes them and the host behind them.
func (h *Host) serve(listener net.Listener) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	running, served, config := h.Host, make(chan error, 1), h.options.Server
	if h.options.Keys {
		config.Authenticate, config.Readmit = server.Bearer(running.Admit), running.Readmit
	}
	doors := server.New(server.For(running), config)
	running.OnKeys(doors.Recheck)
	go func() { served <- doors.Serve(ctx, listener) }()
	return func() {
		cancel()
		running.Stop() // ends the subscriptions that the doors wait for
		if err := <-served; err != nil {
			h.t.Errorf("hosttest: the doors do not close: %v", err)
		}
	}
}

// Stop closes the doors and stops the host. Calls after the first do nothing.
func (h *Host) Stop() {
	if h.close != nil {
		h.close()
		h.close = nil
	}
}

// Restart stops the host, unless it has been, and starts another on the same
// store and at the same address. Sockets are cut first: the doors would wait for
// those that nobody reads.
func (h *Host) Restart() {
	h.t.Helper()
	for _, s := range h.sockets {
		s.Cut()
	}
	h.sockets = nil
	h.Stop()
	h.http.CloseIdleConnections() // one to the host that is gone may not be known to be closed
	h.start(h.URL[len("http://"):])
}
