package agentsv1

import (
	"slices"

	"agenthost/host/api"
	"agenthost/sessions"
)

// subagentView is a sub-session as this API shows it.
type subagentView struct {
	ID            string  `json:"id"`
	Object        string  `json:"object"`
	ClosedAt      *int64  `json:"closed_at"`
	Instructions  []any   `json:"instructions"`
	Name          *string `json:"name"`
	OpenedAt      int64   `json:"opened_at"`
	ParentAgentID string  `json:"parent_agent_id"`
	SessionID     string  `json:"session_id"`
	Status        string  `json:"status"`
}

func (s subagentView) id() string { return s.ID }

func viewSubagent(ref sessions.Ref, parent sessions.Session) subagentView {
	view := subagentView{ID: string(ref.SessionID), Object: "agent.session.subagent", OpenedAt: unix(ref.CreatedAt),
		ParentAgentID: agentOf(parent), SessionID: string(parent.ID), Status: "active"}
	if ref.Name != "" {
		view.Name = &ref.Name
	}
	if ref.Status.Ended() {
		view.Status, view.ClosedAt = "closed", new(unix(max(ref.EndedAt, ref.CreatedAt)))
	}
	return view
}

// refs returns a session with its records of sub-sessions, oldest first.
func (v *visit) refs(at api.Address) (sessions.Session, []sessions.Ref, error) {
	s, err := v.session(at)
	if err != nil {
		return s, nil, err
	}
	got, err := v.access.Children(v.ctx(), &api.ChildrenArgs{Address: at})
	if err != nil {
		return s, nil, err
	}
	return s, got.Refs, nil
}

func (v *visit) listSubagents(n named) error {
	q, err := v.page()
	if err != nil {
		return err
	}
	s, refs, err := v.refs(n.at)
	if err != nil {
		return err
	}
	views := make([]subagentView, len(refs))
	for i, ref := range refs {
		views[i] = viewSubagent(ref, s)
	}
	page, err := behind(q, views)
	if err != nil {
		return err
	}
	return v.reply(page)
}

// ref returns a session's record of one sub-session.
func (v *visit) ref(at api.Address, id sessions.SessionID) (sessions.Session, sessions.Ref, error) {
	s, refs, err := v.refs(at)
	if err != nil {
		return s, sessions.Ref{}, err
	}
	i := slices.IndexFunc(refs, func(r sessions.Ref) bool { return r.SessionID == id })
	if i < 0 {
		return s, sessions.Ref{}, notFound()
	}
	return s, refs[i], nil
}

func (v *visit) getSubagent(n named) error {
	s, ref, err := v.ref(n.at, n.subagent)
	if err != nil {
		return err
	}
	return v.reply(viewSubagent(ref, s))
}

// child returns the address of a sub-session that lives on this host.
func (v *visit) child(at api.Address, id sessions.SessionID) (api.Address, error) {
	_, ref, err := v.ref(at, id)
	if err != nil {
		return at, err
	}
	if ref.Location != sessions.Local {
		return at, unsupported()
	}
	return api.Address{SessionID: id}, nil
}
