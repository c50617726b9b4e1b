package host_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/sessions"
)

// child makes a child of a session.
func child(t *testing.T, h *hosttest.Host, id, parent sessions.SessionID, where sessions.Location) {
	t.Helper()
	_, err := h.SessionCreate(t.Context(), &api.SessionCreateArgs{
		Address: api.Address{SessionID: id}, ParentID: parent, ParentLocation: where})
	require.NoError(t, err)
}

func TestChildrenAreListedWithTheirLocation(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	made, err := h.SessionCreate(t.Context(), &api.SessionCreateArgs{Address: atK})
	require.NoError(t, err)
	got, err := h.Children(t.Context(), &api.ChildrenArgs{Address: atK})
	require.NoError(t, err)
	require.Equal(t, []sessions.Ref{}, got.Refs, "none, and not nothing")

	child(t, h, "near", made.Session.ID, sessions.Local)
	child(t, h, "far", made.Session.ID, sessions.Remote)
	byID := api.Address{SessionID: made.Session.ID}
	for _, at := range []api.Address{atK, byID} {
		got, err = h.Children(t.Context(), &api.ChildrenArgs{Address: at})
		require.NoError(t, err)
		require.Len(t, got.Refs, 2)
		require.Equal(t, sessions.SessionID("near"), got.Refs[0].SessionID)
		require.Equal(t, sessions.Local, got.Refs[0].Location)
		require.Equal(t, sessions.SessionID("far"), got.Refs[1].SessionID)
		require.Equal(t, sessions.Remote, got.Refs[1].Location)
	}

	_, err = h.SessionDelete(t.Context(), &api.SessionDeleteArgs{Address: api.Address{SessionID: "near"}})
	require.NoError(t, err)
	got, err = h.Children(t.Context(), &api.ChildrenArgs{Address: byID})
	require.NoError(t, err)
	require.Len(t, got.Refs, 1, "a child's delete takes its parent's record of it")
	_, err = h.Children(t.Context(), &api.ChildrenArgs{Address: api.Address{SessionID: "near"}})
	require.Equal(t, sessions.CodeSessionNotFound, sessions.CodeOf(err))
}

// What a delete does to children is the caller's choice; remote ones stay.
func TestDeleteByTheChoiceOfChildren(t *testing.T) {
	for policy, left := range map[sessions.ChildPolicy][]sessions.SessionID{
		"":               {"far"},
		sessions.Cascade: {"far"},
		sessions.Detach:  {"far", "near", "nearer"},
	} {
		t.Run(string(policy), func(t *testing.T) {
			h := hosttest.New(t, hosttest.Options{})
			_, err := h.SessionCreate(t.Context(), &api.SessionCreateArgs{Address: api.Address{SessionID: "root"}})
			require.NoError(t, err)
			child(t, h, "near", "root", sessions.Local)
			child(t, h, "nearer", "near", sessions.Local)
			child(t, h, "far", "root", sessions.Remote)
			gone, err := h.SessionDelete(t.Context(), &api.SessionDeleteArgs{Address: api.Address{SessionID: "root"}, Children: policy})
			require.NoError(t, err)
			require.EqualValues(t, 4-len(left), gone.Receipt.Sessions)
			require.True(t, gone.Receipt.Complete)
			list, err := h.SessionList(t.Context(), &api.SessionListArgs{})
			require.NoError(t, err)
			var ids []sessions.SessionID
			for _, s := range list.Sessions {
				ids = append(ids, s.ID)
			}
			require.ElementsMatch(t, left, ids)
			if policy == sessions.Detach {
				near, err := h.SessionGet(t.Context(), &api.SessionGetArgs{Address: api.Address{SessionID: "near"}})
				require.NoError(t, err)
				require.Empty(t, near.Session.ParentID, "it lives on as a root")
			}
		})
	}
}
