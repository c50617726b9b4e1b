package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agenthost/tools"
)

// tool is one tool of a server.
type tool struct {
	server *server
	name   string // the server's
	spec   tools.Spec
}

func newTool(s *server, t *sdk.Tool) (*tool, error) {
	schema, err := json.Marshal(t.InputSchema)
	if err != nil {
		return nil, err
	}
	made := &tool{server: s, name: t.Name, spec: tools.Spec{Description: cmp.Or(t.Description, t.Title), Schema: schema}}
	if hints := t.Annotations; hints != nil {
		made.spec.Description = cmp.Or(made.spec.Description, hints.Title)
		made.spec.Repeatable = hints.ReadOnlyHint || hints.IdempotentHint
	}
	return made, nil
}

// like reports whether models and callers see no difference between two tools.
func (t *tool) like(other *tool) bool {
	return t.name == other.name && t.spec.Description == other.spec.Description &&
		t.spec.Repeatable == other.spec.Repeatable && bytes.Equal(t.spec.Schema, other.spec.Schema)
}

// Spec returns what the server says about the tool.
func (t *tool) Spec() tools.Spec { return t.spec }

// Invoke has the server run the tool.
func (t *tool) Invoke(ctx context.Context, call tools.Call) (json.RawMessage, error) {
	result, err := t.server.call(ctx, &sdk.CallToolParams{Name: t.name, Arguments: call.Args}, t.spec.Repeatable)
	if err != nil {
		return nil, err
	}
	return outputOf(result)
}
