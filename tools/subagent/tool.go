package subagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"agenthost/sessions"
	"agenthost/tools"
)

// Root is where sub-agents are mounted: /agents/<profile> for those of the host
// itself, /agents/<name>/<profile> for those of another.
const Root = "/agents"

// Tool lets a model work with sub-agents of one profile.
type Tool struct {
	profile string
	about   string // whom the model is told it speaks to
	at      func(call tools.Call, profile string) (Place, error)
}

// New returns the tool for sub-agents of a profile. at finds, for each call, the
// place of its session's children; Here is that of the host the call comes from.
// about is the end of a sentence that tells models whom they speak to.
func New(profile, about string, at func(call tools.Call, profile string) (Place, error)) *Tool {
	return &Tool{profile, about, at}
}

// Mount mounts the sub-agents of a host's own profiles, except where something is
// mounted already. The error joins those of profiles whose name cannot be part of
// a tool's path.
func Mount(tree *tools.Tree, profiles ...string) error {
	var failed []error
	for _, profile := range profiles {
		path := Root + "/" + profile
		if _, taken := tree.Lookup(path); taken {
			continue
		}
		if err := tree.Mount(path, New(profile, fmt.Sprintf("of the profile %q", profile), Here)); err != nil {
			failed = append(failed, fmt.Errorf("the profile %q cannot be a sub-agent: %w", profile, err))
		}
	}
	return errors.Join(failed...)
}

// Spec describes the tool.
func (t *Tool) Spec() tools.Spec {
	return tools.Spec{
		Description: "Asks another agent, " + t.about + ", to do a part of the work, and returns its answer. " +
			"Several calls at once work side by side. Without a name each call has an agent of its own; " +
			"with a name it is a companion, which is kept for later calls.",
		Schema:     json.RawMessage(argsSchema),
		Repeatable: true,
		TurnBound:  true,
	}
}

// Invoke runs one call.
func (t *Tool) Invoke(ctx context.Context, call tools.Call) (json.RawMessage, error) {
	in, err := readArgs(call.Args)
	if err != nil {
		return nil, err
	}
	if call.Turn == nil {
		return nil, failure("Sub-agents can be asked by an agent's turn only.")
	}
	place, err := t.at(call, t.profile)
	if err != nil {
		return nil, err
	}
	e := &errand{place: place, call: call, profile: t.profile, args: in}
	output, err := e.run(ctx)
	if err != nil {
		return nil, err
	}
	return tools.Encode(output)
}

// requestOf is the id under which a call prompts its child, each time that it is
// run. Call ids are unique over all lives.
func requestOf(call tools.Call) sessions.RequestID {
	return sessions.RequestID(requestPrefix + string(call.CallID))
}

const requestPrefix = "subagent:"

// Asked reports whether a child was prompted under the id by a call of its
// parent, and not by somebody else.
func Asked(id sessions.RequestID) bool { return strings.HasPrefix(string(id), requestPrefix) }
