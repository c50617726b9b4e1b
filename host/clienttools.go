package host

import (
	"context"

	"agenthost/sessions"
)

// ClientTools returns the paths of the tools that clients run in a turn: those that
// the turn was given for them, and mounted ones that say so. Messages that were seeded
// or copied have no turn; for these, "", the profile's tools count as they are now.
func (a *Access) ClientTools(ctx context.Context, s sessions.Session, turn sessions.TurnID) (map[string]bool, error) {
	given := a.host.profiles[s.ProfileKey].ClientTools
	if turn != "" {
		t, err := a.host.store.Turn(ctx, s.Fence.Incarnation, turn)
		if err != nil {
			return nil, err
		}
		given = t.Inference.ClientTools
	}
	paths := map[string]bool{}
	for _, tool := range given {
		paths[tool.Path] = true
	}
	for _, m := range a.host.system.Tools() {
		if m.Spec.ClientSide {
			paths[m.Path] = true
		}
	}
	return paths, nil
}

// FunctionNames returns the names by which models call the tools of the host and those
// that clients run for a profile.
func (a *Access) FunctionNames(profile string) map[string]bool {
	names := map[string]bool{}
	for _, m := range a.host.system.Tools() {
		names[m.Function] = true
	}
	for _, tool := range a.host.profiles[profile].ClientTools {
		names[sessions.FunctionName(tool.Path)] = true
	}
	return names
}
