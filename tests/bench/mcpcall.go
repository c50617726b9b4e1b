package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agenthost/tools"
	"agenthost/tools/mcp"
)

// mcpCalls measures the calls of a tool of an MCP server over its standard input
// and output, against the official SDK with such a server of its own.
func (b *bench) mcpCalls(ctx context.Context, tree *tools.Tree) (err error) {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	variable := childVariable + "=" + mcpChild
	servers, err := mcp.Start(tree, []mcp.Server{{Name: "bench", Mount: "/mcp", Command: []string{program}, Env: []string{variable}}}, mcp.Config{})
	if err != nil {
		return err
	}
	defer servers.Stop()
	servers.Settle(ctx)
	command := exec.CommandContext(ctx, program)
	command.Env = append(os.Environ(), variable)
	session, err := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, &sdk.CommandTransport{Command: command}, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	echo := tooling{what: "call of an MCP tool", tree: tree, path: "/mcp/echo", args: `{"text":"42"}`, want: `"42"`}
	echo.direct = func(ctx context.Context) (string, error) {
		result, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "echo", Arguments: json.RawMessage(echo.args)})
		if err != nil {
			return "", err
		}
		text, ok := result.Content[0].(*sdk.TextContent)
		if !ok || result.IsError {
			return "", errors.New("the MCP tool gave no text")
		}
		out, err := json.Marshal(text.Text)
		return string(out), err
	}
	for _, kind := range []storeKind{onDisk, inMemory} {
		if err := b.toolCallRounds(ctx, echo, kind, 1); err != nil {
			return err
		}
	}
	return nil
}
