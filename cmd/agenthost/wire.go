package main

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"agenthost/cmd/agenthost/config"
	"agenthost/host"
	"agenthost/host/agentsv1"
	"agenthost/host/api"
	"agenthost/host/remotes"
	"agenthost/host/server"
	"agenthost/host/telemetry"
	"agenthost/persistence/sqlite"
	"agenthost/tools"
	"agenthost/tools/mcp"
	"agenthost/tools/repl"
)

// drainExtra is what connections get to end in, beyond the grace of turns.
const drainExtra = 5 * time.Second

// runningHost is a host with its doors, not yet listening.
type runningHost struct {
	*host.Host
	profiles map[string]host.Profile
	doors    *server.Server
	others   []*remotes.Remote
	servers  *mcp.Servers
	tracing  tracing
	log      *slog.Logger
}

// Stop stops the host, and then what its calls may have needed: the MCP servers
// and the connections to other hosts. The last spans are sent at the end.
func (h *runningHost) Stop() {
	h.Host.Stop()
	h.servers.Stop()
	for _, other := range h.others {
		other.Close()
	}
	h.tracing.stop(h.log)
}

// startHost puts a host together as the configuration says, and starts it, unless
// allow refuses it when it hears whether requests will need keys.
func startHost(ctx context.Context, c *config.Config, log *slog.Logger, allow func(demandsKeys bool) error) (*runningHost, error) {
	secured, err := tlsOf(c.TLS)
	if err != nil {
		return nil, err
	}
	tree, others, err := newTree(c)
	if err != nil {
		return nil, err
	}
	profiles, err := profilesOf(c)
	if err != nil {
		return nil, err
	}
	metrics := telemetry.New(versionOf().Version, log)
	store, err := sqlite.Open(ctx, c.DatabasePath(), sqlite.Config{
		Durability: string(c.Durability), Frames: string(c.Frames), FramesPerSession: c.Limits.FramesPerSession, Logger: log, Observer: metrics})
	if err != nil {
		return nil, err
	}
	keys, err := store.Keys(ctx)
	if err == nil {
		err = allow(len(keys) > 0)
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	spans, err := startTracing(ctx, c, log)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	h, err := host.New(store, profiles, host.Config{
		Tools: tree, Limits: c.Limits, IdleTTL: c.IdleTTL, DedupTTL: c.DedupTTL,
		StopGrace: c.StopGrace, TargetRoot: c.TargetRoot, Version: versionOf().Version, Logger: log,
		Retention: retentionOf(c), OwnerDayTokens: c.OwnerDayTokens,
		Observer: metrics, Tracing: spans.spans(),
	})
	if err != nil {
		spans.stop(log)
		return nil, err
	}
	metrics.Watch(h, func(ctx context.Context) (telemetry.StoreNumbers, error) {
		n, err := store.Numbers(ctx)
		return telemetry.StoreNumbers(n), err
	}, log)
	// Before turns are taken up, which may go on with these tools.
	servers, err := startMCP(ctx, h.System(), c, settleWait, log)
	if err != nil {
		h.Stop()
		spans.stop(log)
		return nil, err
	}
	running := &runningHost{Host: h, profiles: profiles, others: others, servers: servers, tracing: spans, log: log}
	if err := h.Start(ctx); err != nil {
		running.Stop()
		return nil, err
	}
	running.doors = newDoors(h, c, log, metrics, secured)
	h.OnKeys(running.doors.Recheck)
	return running, nil
}

// newDoors makes the doors of a host, whose callers are told by their keys.
func newDoors(h *host.Host, c *config.Config, log *slog.Logger, metrics *telemetry.Metrics, secured *tls.Config) *server.Server {
	authenticate := server.Bearer(h.Admit)
	var doors *server.Server
	stay := func(ctx context.Context, caller api.Caller) (context.Context, context.CancelFunc, error) {
		return doors.Stay(ctx, caller)
	}
	doors = server.New(server.For(h), server.Config{
		Logger: log, Limits: c.Limits, DrainFor: c.StopGrace + drainExtra, Observer: metrics, Metrics: metrics,
		Authenticate: authenticate, Readmit: h.Readmit, TLS: secured,
		Agents: agentsv1.New(h, agentsv1.Config{Authenticate: authenticate, Stay: stay, Logger: log, Limits: c.Limits}),
	})
	return doors
}

// newTree mounts the tools of a host, and returns the other hosts among them.
func newTree(c *config.Config) (*tools.Tree, []*remotes.Remote, error) {
	tree := &tools.Tree{}
	if err := tools.MountBuiltins(tree, time.Now); err != nil {
		return nil, nil, err
	}
	if err := repl.Mount(tree, repl.Config{Timeout: c.REPL.Timeout, MemoryBytes: c.REPL.MemoryBytes}); err != nil {
		return nil, nil, err
	}
	var others []*remotes.Remote
	for _, name := range slices.Sorted(maps.Keys(c.Remotes)) {
		r := c.Remotes[name]
		other := remotes.New(name, r.URL, remotes.Config{Key: r.Key.Reveal(), Grace: r.Grace})
		if err := other.Mount(tree, r.Profiles...); err != nil {
			return nil, nil, err
		}
		others = append(others, other)
	}
	return tree, others, nil
}

// retentionOf turns the configured rules into those of a host.
func retentionOf(c *config.Config) host.Retention {
	all := host.Retention{
		Every: c.Retention.Every, RetentionRules: host.RetentionRules(c.Retention.RetentionRules),
		Profiles: map[string]host.RetentionRules{},
	}
	for name, p := range c.Profiles {
		all.Profiles[name] = host.RetentionRules(p.Retention)
	}
	return all
}

// profilesOf turns configured profiles into those of a host.
func profilesOf(c *config.Config) (map[string]host.Profile, error) {
	oracles, err := oraclesOf(c)
	if err != nil {
		return nil, err
	}
	profiles := map[string]host.Profile{}
	for name, p := range c.Profiles {
		profiles[name] = host.Profile{
			Oracle: oracles[p.Oracle], System: p.System, Tools: p.Tools,
			MaxIterations: p.MaxIterations, PromptTimeout: p.PromptTimeout,
			IdleTTL: p.IdleTTL, ToolTimeout: p.ToolTimeout,
			OnScopeViolation: policy(p.OnScopeViolation), OnToolError: policy(p.OnToolError),
			Budget: host.Budget(p.Budget), Repeatable: p.Repeatable, Params: p.Params, AnswerSchema: p.Schema(),
			NeedsApproval: p.NeedsApproval, ClientTools: p.ClientToolList(), WaitTimeout: p.WaitTimeout,
		}
	}
	return profiles, nil
}
