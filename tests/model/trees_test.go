package model

import (
	"fmt"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"agenthost/host/api"
	"agenthost/sessions"
)

// child says below what a session is made; its zero value means a root.
type child struct {
	parent   string // an id
	location sessions.Location
}

// kin is what a session shows of a child.
type kin struct {
	id       string
	location sessions.Location
	status   sessions.RefStatus
}

// tree returns a session and all that were made below it as local. A child that
// was made as remote is a root of its own, whatever becomes of its parent.
func (c *contract) tree(root *session) []*session {
	all := []*session{root}
	for i := 0; i < len(all); i++ {
		for _, s := range c.sessions {
			if s.holder == all[i] && s.location == sessions.Local {
				all = append(all, s)
			}
		}
	}
	return all
}

// records are a session's records of its children, oldest first.
func (c *contract) records(of *session) []kin {
	var all []kin
	for _, s := range c.sessions {
		switch {
		case s.holder != of:
		case s.location == sessions.Remote:
			all = append(all, kin{s.id, s.location, sessions.RefIdle}) // nothing else was heard
		default:
			all = append(all, kin{s.id, s.location, sessions.RefStatus(s.status)})
		}
	}
	return all
}

// drawChild draws below what a session is made: mostly a root.
func (m *machine) drawChild(t *rapid.T) child {
	parents := []string{"", "", "s2", "s3"}
	for _, s := range m.model.sessions {
		if s.id != "" {
			parents = append(parents, s.id)
		}
	}
	below := child{parent: rapid.SampledFrom(parents).Draw(t, "parent")}
	if below.parent != "" {
		below.location = rapid.SampledFrom([]sessions.Location{sessions.Local, sessions.Local, sessions.Remote}).Draw(t, "location")
	}
	return below
}

// remove deletes a session, with what is below it or without.
func (m *machine) remove(t *rapid.T) {
	at := m.drawAddress(t)
	how := rapid.SampledFrom([]api.IfBusy{api.IfBusyCancel, api.IfBusyReject}).Draw(t, "ifBusy")
	children := rapid.SampledFrom([]sessions.ChildPolicy{"", sessions.Cascade, sessions.Detach}).Draw(t, "children")
	deleted, want := m.model.remove(at, how == api.IfBusyReject, children == sessions.Detach)
	got, code := ask(m.world, (*hostAccess).SessionDelete, &api.SessionDeleteArgs{Address: at.wire(), IfBusy: how, Children: children})
	require.Equal(t, want, code, "delete %v", at)
	if want != "" {
		return
	}
	require.Equal(t, deleted > 0, got.Deleted)
	require.Empty(t, got.Teardown)
	if deleted > 0 {
		require.Equal(t, deleted, got.Receipt.Sessions)
	}
}

// compareChildren compares what a session shows of its children.
func (m *machine) compareChildren(t *rapid.T, s *session, at api.Address) {
	shown, code := ask(m.world, (*hostAccess).Children, &api.ChildrenArgs{Address: at})
	require.Empty(t, code)
	var got []kin
	for _, ref := range shown.Refs {
		got = append(got, kin{string(ref.SessionID), ref.Location, ref.Status})
	}
	require.Equal(t, m.model.records(s), got, "children of %s", s.id)
}

// sum differs when anything of the session does, or of its children as it shows
// them.
func (c *contract) sum(s *session) string {
	sum := fmt.Sprintf("%+v %+v", *s, c.records(s))
	for _, t := range s.turns {
		sum += fmt.Sprintf("%+v", *t)
	}
	return sum
}
