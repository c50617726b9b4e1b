package main

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"agenthost/cmd/agenthost/config"
	"agenthost/tools/mcp"
)

const (
	// settleWait is how long the start of a host waits for MCP servers. What comes
	// later is mounted then.
	settleWait = 5 * time.Second
	// listWait is the same for a command that shows what there is.
	listWait = 30 * time.Second
)

// startMCP starts the configured MCP servers, and waits for them, within a time.
func startMCP(ctx context.Context, mounts mcp.Mounts, c *config.Config, wait time.Duration, log *slog.Logger) (*mcp.Servers, error) {
	var list []mcp.Server
	for _, name := range slices.Sorted(maps.Keys(c.MCP)) {
		s := c.MCP[name]
		about := mcp.Server{Name: name, Mount: s.Mount, Command: s.Command, URL: s.URL, Key: s.Key.Reveal()}
		for variable, value := range s.Values {
			about.Env = append(about.Env, variable+"="+value.Reveal())
		}
		list = append(list, about)
	}
	servers, err := mcp.Start(mounts, list, mcp.Config{Logger: log, Version: versionOf().Version})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	servers.Settle(ctx)
	return servers, nil
}
