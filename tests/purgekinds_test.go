package tests

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/oracle/offline"
	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

const obliterate = "obliterate-7f3a"

// passing is the profile of the sessions that retention may take.
const passing = "passing"

var atMarked = api.Address{TargetKey: obliterate, ProfileKey: passing}

// Whatever deletes a session, a purge afterwards leaves nothing of it: neither
// what was said, nor what it was called, nor what its tools and its state held.
func TestNothingIsLeftAfterAnyDeleteAndAPurge(t *testing.T) {
	deletes := map[string]func(*testing.T, *hosttest.Host){
		"in Go":            deleteThrough(goDoor),
		"over HTTP":        deleteThrough(httpDoor),
		"over a WebSocket": deleteThrough(socketDoor),
		"a clear of one of two owners": func(t *testing.T, h *hosttest.Host) {
			t.Helper()
			_, err := h.SessionClearAll(t.Context(), &api.SessionClearAllArgs{})
			require.NoError(t, err)
		},
		"a clear of the only owner": func(t *testing.T, h *hosttest.Host) {
			t.Helper()
			_, err := h.As(api.Caller{Owner: "other"}).SessionClearAll(t.Context(), &api.SessionClearAllArgs{})
			require.NoError(t, err)
			_, err = h.SessionClearAll(t.Context(), &api.SessionClearAllArgs{})
			require.NoError(t, err)
		},
		"by retention": func(t *testing.T, h *hosttest.Host) {
			t.Helper()
			require.Eventually(t, func() bool { return h.RetentionStats().Sessions == 1 }, hosttest.Patience, 5*time.Millisecond)
		},
	}
	for _, frames := range []string{sqlite.FramesRecord, sqlite.FramesFile} {
		for name, remove := range deletes {
			t.Run(frames+"/"+name, func(t *testing.T) {
				o := hosttest.Options{Store: sqlite.Config{Frames: frames}, Profiles: map[string]host.Profile{
					sessions.DefaultProfile: {Oracle: offline.New()},
					passing:                 {Oracle: offline.New(), Tools: hosttest.AllTools()},
				}}
				if name == "by retention" {
					o.Config.Retention = host.Retention{Every: 10 * time.Millisecond,
						Profiles: map[string]host.RetentionRules{passing: {MaxAge: 2 * time.Second}}}
				}
				h := hosttest.New(t, o)
				other := h.As(api.Caller{Owner: "other"})
				_, err := other.Prompt(t.Context(), &api.PromptArgs{Address: api.Address{TargetKey: "k"}, Text: "stay"}, nil)
				require.NoError(t, err)
				leaveMarks(t, h)
				require.NotEmpty(t, foundIn(t, h.File, obliterate))
				remove(t, h)
				_, err = h.SessionGet(t.Context(), &api.SessionGetArgs{Address: atMarked})
				require.Equal(t, sessions.CodeSessionNotFound, sessions.CodeOf(err))
				_, err = h.Purge(t.Context(), &api.PurgeArgs{})
				require.NoError(t, err)
				require.Empty(t, foundIn(t, h.File, obliterate))
			})
		}
	}
}

func deleteThrough(open func(*testing.T, *hosttest.Host) func(string) api.Reply) func(*testing.T, *hosttest.Host) {
	return func(t *testing.T, h *hosttest.Host) {
		t.Helper()
		reply := caller{t, open(t, h)}.call(api.OpSessionDelete, api.SessionDeleteArgs{Address: atMarked})
		require.True(t, hosttest.Result[api.SessionDeleteResult](t, reply).Deleted)
	}
}

// leaveMarks gives a session the word wherever a client can.
func leaveMarks(t *testing.T, h *hosttest.Host) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hosttest.Patience)
	defer cancel()
	made, err := h.SessionCreate(ctx, &api.SessionCreateArgs{Address: atMarked, Title: obliterate,
		Labels: map[string]string{obliterate: obliterate}, RequestID: obliterate})
	require.NoError(t, err)
	_, err = h.StateSet(ctx, &api.StateSetArgs{Address: api.Address{SessionID: made.Session.ID}, Name: obliterate,
		Value: api.Of(json.RawMessage(`"` + obliterate + `"`))})
	require.NoError(t, err)
	answer, err := h.Prompt(ctx, &api.PromptArgs{Address: atMarked, Text: `/call builtin/echo {"text":"` + obliterate + `"}`,
		RequestID: obliterate + "-prompt"}, nil)
	require.NoError(t, err)
	require.Contains(t, sessions.TextOf(answer.Message.Content), obliterate, "the tool answered with it")
}
