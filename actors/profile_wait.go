package actors

import (
	"cmp"
	"slices"

	"agenthost/sessions"
	"agenthost/tools"
)

// checkWaits checks what makes the profile's turns wait for clients.
func (p Profile) checkWaits(name, field string) error {
	for _, path := range p.NeedsApproval {
		if _, err := tools.ParsePath(path); err != nil {
			return sessions.InvalidField(field+"/needsApproval", "Profile %q wants approval for %q, which is no path.", name, path)
		}
	}
	_, err := plainClientTools(field+"/clientTools", p.ClientTools)
	return err
}

// checkClientTools returns INVALID_REQUEST when a tool that clients run has the
// place of a mounted one.
func (d *deps) checkClientTools(field string, list []sessions.ClientTool) error {
	clients, err := tools.ClientTools(field, list)
	if err != nil {
		return err
	}
	for _, m := range clients {
		if other := d.tree.Clash(m); other != nil {
			return sessions.InvalidField(field, "The client tool at %s would be mistaken for the tool mounted at %s; choose another path.",
				m.Path, other.Path)
		}
	}
	return nil
}

// plainClientTools returns client tools in the form in which a store gives them
// back, in the byte order of their paths.
func plainClientTools(field string, list []sessions.ClientTool) ([]sessions.ClientTool, error) {
	clients, err := tools.ClientTools(field, list)
	if err != nil || len(clients) == 0 {
		return nil, err
	}
	plain := make([]sessions.ClientTool, len(clients))
	for i, m := range clients {
		schema, err := canonical(m.Spec.Schema)
		if err != nil {
			return nil, sessions.InvalidField(field, "The schema of the client tool at %s %s.", m.Path, err)
		}
		plain[i] = sessions.ClientTool{Path: m.Path, Description: m.Spec.Description, Schema: schema}
	}
	return plain, nil
}

// clientTools are those of a request, which are plain, and those of the profile
// that it does not bring itself.
func (p Profile) clientTools(asked []sessions.ClientTool) []sessions.ClientTool {
	if len(asked) == 0 {
		return p.ClientTools
	}
	all := slices.Clone(asked)
	for _, own := range p.ClientTools {
		if !slices.ContainsFunc(asked, func(t sessions.ClientTool) bool { return t.Path == own.Path }) {
			all = append(all, own)
		}
	}
	slices.SortFunc(all, func(a, b sessions.ClientTool) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

// asks says what a call of the tool waits for first, "" for nothing.
func (p Profile) asks(m *tools.Mounted) sessions.PendingKind {
	if m.Spec.NeedsApproval || under(m.Path, p.NeedsApproval) {
		return sessions.PendingApproval
	}
	return asksApproved(m)
}

// asksApproved says what a call that needs no approval any more waits for.
func asksApproved(m *tools.Mounted) sessions.PendingKind {
	if m.Spec.ClientSide {
		return sessions.PendingClientTool
	}
	return ""
}
