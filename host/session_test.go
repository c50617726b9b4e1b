package host_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
)

// A delete waits for what it ends as long as it is told to, and no longer.
func TestDeleteThatDoesNotWait(t *testing.T) {
	began, release := make(chan struct{}, 1), make(chan struct{})
	tree := &tools.Tree{}
	require.NoError(t, tree.Mount("/test/deaf", tools.MustFunc("Ignores its context.",
		func(context.Context, tools.Call, struct{}) (string, error) {
			began <- struct{}{}
			<-release
			return "", nil
		})))
	o := scripted.Strict(scripted.New(scripted.Step{Calls: []scripted.Call{{Path: "/test/deaf"}}}, scripted.Step{Text: "fine"}))
	h := hosttest.New(t, hosttest.Options{Profiles: profiles(o), Config: host.Config{Tools: tree}})
	running := background(func() (*api.PromptResult, error) {
		return h.Prompt(t.Context(), &api.PromptArgs{Address: atK, Text: "hi"}, nil)
	})
	<-began

	gone, err := h.SessionDelete(t.Context(), &api.SessionDeleteArgs{Address: atK, DeleteGraceMs: new(int64(0))})
	require.NoError(t, err)
	require.True(t, gone.Deleted)
	require.Equal(t, api.TeardownPending, gone.Teardown)
	require.False(t, gone.Receipt.Complete)
	require.EqualValues(t, 1, gone.Receipt.Sessions)
	require.Equal(t, sessions.CodeSessionDeleted, sessions.CodeOf((<-running).err))

	// Neither the key nor its new session waits for the old tool.
	result, err := h.Prompt(t.Context(), &api.PromptArgs{Address: atK, Text: "again"}, nil)
	require.NoError(t, err)
	require.EqualValues(t, 2, result.Message.Seq)
	close(release)
}

// A delete told to leave busy sessions alone changes nothing of one.
func TestDeleteOfABusySessionMayBeRefused(t *testing.T) {
	h, gate, running := atWork(t, host.Config{})
	before, err := h.SessionGet(t.Context(), &api.SessionGetArgs{Address: atK})
	require.NoError(t, err)
	_, err = h.SessionDelete(t.Context(), &api.SessionDeleteArgs{Address: atK, IfBusy: api.IfBusyReject})
	require.Equal(t, sessions.CodeConflict, sessions.CodeOf(err))
	after, err := h.SessionGet(t.Context(), &api.SessionGetArgs{Address: atK})
	require.NoError(t, err)
	require.Equal(t, before.Session.ActiveTurn, after.Session.ActiveTurn)
	close(gate)
	result := <-running
	require.NoError(t, result.err)
	require.Equal(t, "done", sessions.TextOf(result.value.Message.Content))
}
