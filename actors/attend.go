package actors

import (
	"context"

	"agenthost/sessions"
	"agenthost/tools/subagent"
)

// attend asks a session's agent to look after a local child whose turn the last
// host left unfinished, as it did before: to stay for it, and to end it when a
// turn of the parent is cancelled. Nobody waits for an answer.
type attend struct {
	parent sessions.Address
	child  sessions.BusyTurn

	arrival
}

func (m *attend) owner() sessions.Owner     { return m.child.Session.Owner }
func (m *attend) address() sessions.Address { return m.parent }
func (m *attend) refuse(*sessions.Error)    {}

// attendChildren sees to it that parents look after the unfinished turns that they
// have asked their children for. The turns have their agents by then. Those that
// are queued are not the parents', who prompt no child that is busy, and neither
// is what others ask of a child.
func (s *System) attendChildren(busy []sessions.BusyTurn) {
	for _, b := range busy {
		asked := subagent.Asked(b.Turn.RequestID) && b.Turn.Status != sessions.TurnIsQueued
		if asked && b.Session.ParentID != "" && b.Session.ParentLocation == sessions.Local {
			s.deps.send(s.deps.root, &attend{parent: sessions.Address{ID: b.Session.ParentID}, child: b})
		}
	}
}

func (a *agent) handleAttend(msg *attend) {
	place := localAgents{a.deps, a.ident.owner, a.ident.id, msg.child.Session.ProfileKey}
	child := sessions.Ref{SessionID: msg.child.Session.ID, Location: sessions.Local}
	a.beside.start(a.deps, a.ident.id, func(ctx context.Context) {
		// What it gives, the call asks for that is run again.
		_, _ = subagent.Watch(ctx, place, child, subagent.Work{Turn: msg.child.Turn})
	})
}
