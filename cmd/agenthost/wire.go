package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"agenthost/cmd/agenthost/config"
	"agenthost/host"
	"agenthost/host/server"
	"agenthost/persistence/sqlite"
	"agenthost/tools"
)

// drainExtra is what connections get to end in, beyond the grace of turns.
const drainExtra = 5 * time.Second

// runningHost is a host with its doors, not yet listening.
type runningHost struct {
	*host.Host
	profiles map[string]host.Profile
	doors    *server.Server
}

// startHost puts a host together as the configuration says, and starts it.
func startHost(ctx context.Context, c *config.Config, log *slog.Logger) (*runningHost, error) {
	tree, err := newTree()
	if err != nil {
		return nil, err
	}
	profiles, err := profilesOf(c)
	if err != nil {
		return nil, err
	}
	store, err := sqlite.Open(ctx, c.DatabasePath(), sqlite.Config{
		Durability: string(c.Durability), Frames: string(c.Frames), FramesPerSession: c.Limits.FramesPerSession, Logger: log})
	if err != nil {
		return nil, err
	}
	h, err := host.New(store, profiles, host.Config{
		Tools: tree, Limits: c.Limits, IdleTTL: c.IdleTTL, DedupTTL: c.DedupTTL,
		StopGrace: c.StopGrace, TargetRoot: c.TargetRoot, Version: versionOf().Version, Logger: log,
		Retention: retentionOf(c),
	})
	if err != nil {
		return nil, err
	}
	if err := h.Start(ctx); err != nil {
		h.Stop()
		return nil, err
	}
	doors := server.New(server.For(h), server.Config{Logger: log, Limits: c.Limits, DrainFor: c.StopGrace + drainExtra})
	return &runningHost{Host: h, profiles: profiles, doors: doors}, nil
}

// newTree mounts the tools of a host.
func newTree() (*tools.Tree, error) {
	tree := &tools.Tree{}
	return tree, tools.MountBuiltins(tree, time.Now)
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
			Repeatable: p.Repeatable, Params: p.Params, AnswerSchema: json.RawMessage(p.AnswerSchema),
		}
	}
	return profiles, nil
}
