package tools

import (
	"cmp"
	"slices"
	"strings"

	"agenthost/sessions"
)

// ClientTools returns tools that clients run as they stand beside those of a
// tree, in the byte order of their paths. They have no Tool. It is
// INVALID_REQUEST when a path is none, a schema cannot be used, or two of them
// have the same path or function name; details.field is the JSON pointer of the
// tool below field, that of the list.
func ClientTools(field string, list []sessions.ClientTool) ([]*Mounted, error) {
	all := make([]*Mounted, 0, len(list))
	for i, t := range list {
		m, err := newClientTool(t)
		if err != nil {
			return nil, sessions.InvalidField(field+pointer(i), "The client tool %q cannot be used: %s", t.Path, messageOf(err)).Because(err)
		}
		if other := m.clash(all); other != nil {
			return nil, sessions.InvalidField(field+pointer(i), "The client tools at %s and %s would both be called %q by a model; choose another path.",
				m.Path, other.Path, m.Function)
		}
		all = append(all, m)
	}
	slices.SortFunc(all, byPath)
	return all, nil
}

func newClientTool(t sessions.ClientTool) (*Mounted, error) {
	path, err := ParsePath(t.Path)
	if err != nil {
		return nil, err
	}
	args, err := newArgSchema(t.Schema)
	if err != nil {
		return nil, err
	}
	spec := Spec{Description: strings.ToValidUTF8(t.Description, "\uFFFD"), Schema: args.raw, ClientSide: true}
	return &Mounted{Path: path, Function: sessions.FunctionName(path), Spec: spec, args: args}, nil
}

// clash returns the first of others that a model could take for m, nil if there
// is none.
func (m *Mounted) clash(others []*Mounted) *Mounted {
	for _, o := range others {
		if o.Path == m.Path || o.Function == m.Function {
			return o
		}
	}
	return nil
}

// Clash returns what is mounted now that a model could take for the client's tool
// m, nil if there is nothing.
func (t *Tree) Clash(m *Mounted) *Mounted { return m.clash(t.All()) }

// VisibleBeside is Visible with the tools of clients, which are in every scope,
// in their places. A mounted tool that a model could take for one of them is
// left out.
func (t *Tree) VisibleBeside(scope Scope, clients []*Mounted) []*Mounted {
	visible := t.Visible(scope)
	if len(clients) == 0 {
		return visible
	}
	visible = slices.DeleteFunc(visible, func(m *Mounted) bool { return m.clash(clients) != nil })
	visible = append(visible, clients...)
	slices.SortFunc(visible, byPath)
	return visible
}

func byPath(a, b *Mounted) int { return cmp.Compare(a.Path, b.Path) }
