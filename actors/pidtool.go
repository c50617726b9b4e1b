package actors

import (
	"context"
	"encoding/json"

	"agenthost/tools"
)

// pidTool is a mounted actor as the tool tree sees it. Its calls go through the
// tool actor, as messages.
type pidTool struct {
	spec tools.Spec
	pid  *PID
}

// Spec describes the tool.
func (p *pidTool) Spec() tools.Spec { return p.spec }

// Invoke is never called by a tool actor, and fails for anyone else: an actor is
// reached by messages.
func (p *pidTool) Invoke(_ context.Context, call tools.Call) (json.RawMessage, error) {
	return nil, errTool(call.Path, "The tool at %s is an actor; call it through the tool tree.", call.Path)
}
