package tests

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/sessions"
)

// A tree with a damaged session is for somebody to look at: retention leaves all
// of it, however old, and a delete takes it.
func TestRetentionLeavesADamagedTree(t *testing.T) {
	var later atomic.Int64
	h := hosttest.New(t, hosttest.Options{Config: host.Config{
		Now:       func() time.Time { return time.Now().Add(time.Duration(later.Load())) },
		Retention: host.Retention{Every: 10 * time.Millisecond, RetentionRules: host.RetentionRules{MaxAge: 24 * time.Hour}},
	}})
	at := func(id sessions.SessionID) api.Address { return api.Address{SessionID: id} }
	for _, args := range []api.SessionCreateArgs{
		{Address: at("sound")}, {Address: at("root")}, {Address: at("broken"), ParentID: "root", ParentLocation: sessions.Local},
	} {
		_, err := h.SessionCreate(t.Context(), &args)
		require.NoError(t, err)
		_, err = h.Prompt(t.Context(), &api.PromptArgs{Address: args.Address, Text: "hi"}, nil)
		require.NoError(t, err)
	}
	h.Stop()
	damage(t, h.File, "broken")
	h.Restart()
	_, err := h.Messages(t.Context(), &api.MessagesArgs{Address: at("broken")})
	require.Equal(t, sessions.CodeSessionDamaged, sessions.CodeOf(err))

	later.Store(int64(48 * time.Hour))
	require.Eventually(t, func() bool { return h.RetentionStats().Trees == 1 }, hosttest.Patience, 5*time.Millisecond)
	kept := h.RetentionStats().Kept
	require.Eventually(t, func() bool { return h.RetentionStats().Kept > kept+1 }, hosttest.Patience, 5*time.Millisecond)
	_, err = h.SessionGet(t.Context(), &api.SessionGetArgs{Address: at("sound")})
	require.Equal(t, sessions.CodeSessionNotFound, sessions.CodeOf(err))
	for _, id := range []sessions.SessionID{"root", "broken"} {
		_, err = h.SessionGet(t.Context(), &api.SessionGetArgs{Address: at(id)})
		require.NoError(t, err)
	}
	gone, err := h.SessionDelete(t.Context(), &api.SessionDeleteArgs{Address: at("root")})
	require.NoError(t, err)
	require.EqualValues(t, 2, gone.Receipt.Sessions)
}
