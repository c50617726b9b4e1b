package main

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"agenthost/cmd/agenthost/config"
	"agenthost/tools/subagent"
)

// shownTool is a mounted tool as --json prints it.
type shownTool struct {
	Path        string          `json:"path"`
	Function    string          `json:"function"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Repeatable  bool            `json:"repeatable"`
}

func (a *app) toolsCommand() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "tools",
		Short: "Print the tree of tools that a host with this configuration has",
		Long: `Print the tree of tools that a host with this configuration has. It starts the MCP
servers to ask for theirs. An agent may call those that the tools of its profile name.`,
		Args: cobra.NoArgs,
		RunE: a.does(func(ctx context.Context, _ []string) error {
			c, err := a.settings()
			if err != nil {
				return err
			}
			return a.tools(ctx, c, asJSON)
		}),
	}
	jsonFlag(command, &asJSON)
	return command
}

func (a *app) tools(ctx context.Context, c *config.Config, asJSON bool) error {
	tree, _, err := newTree(c)
	if err != nil {
		return err
	}
	if err := subagent.Mount(tree, slices.Sorted(maps.Keys(c.Profiles))...); err != nil {
		a.complain("agenthost: %v", err)
	}
	servers, err := startMCP(ctx, tree, c, listWait, a.logger())
	if err != nil {
		return err
	}
	defer servers.Stop()
	for _, name := range servers.Missing() {
		a.complain("agenthost: the MCP server %s is not there; its tools are missing", name)
	}
	var list []shownTool
	var t table
	t.add("PATH", "DESCRIPTION")
	for _, m := range tree.All() {
		list = append(list, shownTool{m.Path, m.Function, m.Spec.Description, m.Spec.Schema, m.Spec.Repeatable})
		t.add(m.Path, m.Spec.Description)
	}
	if asJSON {
		return printLines(a, list)
	}
	return t.write(a.stdout)
}
