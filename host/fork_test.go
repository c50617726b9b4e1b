package host_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/sessions"
)

func TestForkIsAConversationOfItsOwn(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	for _, text := range []string{"one", "two"} {
		_, err := h.Prompt(t.Context(), &api.PromptArgs{Address: atK, Text: text}, nil)
		require.NoError(t, err)
	}
	origin, err := h.SessionGet(t.Context(), &api.SessionGetArgs{Address: atK})
	require.NoError(t, err)

	made, err := h.SessionFork(t.Context(), &api.SessionForkArgs{Address: atK, ThroughSeq: new(int64(2)), NewTargetKey: "other"})
	require.NoError(t, err)
	require.Equal(t, origin.Session.ID, made.Session.ForkedFrom)
	require.Empty(t, made.Session.ParentID, "it is no child")
	require.Equal(t, "other", made.Session.TargetKey)
	require.EqualValues(t, 2, made.Session.MessageCount)
	answer, err := h.Prompt(t.Context(), &api.PromptArgs{Address: api.Address{TargetKey: "other"}, Text: "list"}, nil)
	require.NoError(t, err)
	require.EqualValues(t, 4, answer.Message.Seq)
	after, err := h.SessionGet(t.Context(), &api.SessionGetArgs{Address: atK})
	require.NoError(t, err)
	require.Equal(t, origin.Session.MessageCount, after.Session.MessageCount)

	gone, err := h.SessionDelete(t.Context(), &api.SessionDeleteArgs{Address: atK})
	require.NoError(t, err)
	require.EqualValues(t, 1, gone.Receipt.Sessions)
	_, err = h.SessionGet(t.Context(), &api.SessionGetArgs{Address: api.Address{TargetKey: "other"}})
	require.NoError(t, err)
}

func TestForkIsMadeOnceForARequest(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	_, err := h.Prompt(t.Context(), &api.PromptArgs{Address: atK, Text: "one"}, nil)
	require.NoError(t, err)
	args := api.SessionForkArgs{Address: atK, RequestID: "r"}
	made, err := h.SessionFork(t.Context(), &args)
	require.NoError(t, err)
	h.Restart()
	again, err := h.SessionFork(t.Context(), &args)
	require.NoError(t, err)
	require.Equal(t, made.Session.ID, again.Session.ID)
	list, err := h.SessionList(t.Context(), &api.SessionListArgs{})
	require.NoError(t, err)
	require.Len(t, list.Sessions, 2)

	args.ThroughSeq = new(int64(1))
	_, err = h.SessionFork(t.Context(), &args)
	require.Equal(t, sessions.CodeRequestConflict, sessions.CodeOf(err))
	_, err = h.SessionCreate(t.Context(), &api.SessionCreateArgs{RequestID: "r"})
	require.Equal(t, sessions.CodeRequestConflict, sessions.CodeOf(err), "another operation is another request")
}

// A turn under way is no reason to wait: what is stored of it is copied.
func TestForkOfARunningSession(t *testing.T) {
	h, gate, running := atWork(t, host.Config{})
	made, err := h.SessionFork(t.Context(), &api.SessionForkArgs{Address: atK, NewSessionID: "copy"})
	require.NoError(t, err)
	require.Equal(t, sessions.SessionID("copy"), made.Session.ID)
	require.Nil(t, made.Session.ActiveTurn)
	close(gate)
	require.NoError(t, (<-running).err)
	answer, err := h.Prompt(t.Context(), &api.PromptArgs{Address: api.Address{SessionID: "copy"}, Text: "hello"}, nil)
	require.NoError(t, err)
	require.Equal(t, "fine", sessions.TextOf(answer.Message.Content))
}
