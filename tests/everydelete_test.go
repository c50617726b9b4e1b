package tests

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
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

// residue begins the ids, and is in every text, of what is to be deleted.
const residue = "residue"

var residueRoot = api.Address{SessionID: residue + "-root"}

// deleteWays are all ways in which a tree of sessions is deleted. age makes the
// tree old enough for retention.
var deleteWays = map[string]func(t *testing.T, h *hosttest.Host, age func()){
	"websocket": func(t *testing.T, h *hosttest.Host, _ func()) {
		t.Helper()
		s := h.Socket()
		defer s.Cut() // the host would wait for it
		requireTreeGone(t, s.Call(api.OpSessionDelete, api.SessionDeleteArgs{Address: residueRoot}))
	},
	"http": func(t *testing.T, h *hosttest.Host, _ func()) {
		t.Helper()
		_, reply := h.Post(api.OpSessionDelete, api.SessionDeleteArgs{Address: residueRoot})
		requireTreeGone(t, reply)
	},
	"command": func(t *testing.T, h *hosttest.Host, _ func()) {
		t.Helper()
		folder := t.TempDir()
		built, err := exec.CommandContext(t.Context(), "go", "build", "-o", folder, "agenthost/cmd/agenthost").CombinedOutput()
		require.NoError(t, err, "%s", built)
		run := exec.CommandContext(t.Context(), filepath.Join(folder, "agenthost"), "sessions", "delete", string(residueRoot.SessionID), "--host", h.URL)
		run.Dir, run.Env = folder, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder}
		said, err := run.CombinedOutput()
		require.NoError(t, err, "%s", said)
		require.Contains(t, string(said), "deleted 3 sessions, complete\n")
	},
	"retention": func(t *testing.T, h *hosttest.Host, age func()) {
		t.Helper()
		require.Zero(t, h.RetentionStats().Trees)
		age()
		require.Eventually(t, func() bool { return h.RetentionStats().Sessions == 3 }, hosttest.Patience, 5*time.Millisecond)
	},
	"clear-all": func(t *testing.T, h *hosttest.Host, _ func()) {
		t.Helper()
		cleared, err := h.Client.SessionClearAll(t.Context(), api.SessionClearAllArgs{})
		require.NoError(t, err)
		require.EqualValues(t, 4, cleared.Receipt.Sessions)
		require.True(t, cleared.Receipt.Complete)
	},
	"clear-all of one of two owners": func(t *testing.T, h *hosttest.Host, _ func()) {
		t.Helper()
		_, err := h.As(api.Caller{Owner: "other"}).SessionCreate(t.Context(), &api.SessionCreateArgs{})
		require.NoError(t, err)
		cleared, err := h.Client.SessionClearAll(t.Context(), api.SessionClearAllArgs{})
		require.NoError(t, err)
		require.EqualValues(t, 4, cleared.Receipt.Sessions)
	},
}

func requireTreeGone(t *testing.T, reply api.Reply) {
	t.Helper()
	done := hosttest.Result[api.SessionDeleteResult](t, reply)
	require.True(t, done.Deleted)
	require.EqualValues(t, 3, done.Receipt.Sessions)
	require.True(t, done.Receipt.Complete)
}

// However a tree is deleted, no row of it is left in any table, no file, and no
// tombstone that names it; what is beside it stays.
func TestNoKindOfDeleteLeavesARow(t *testing.T) {
	for _, frames := range []string{sqlite.FramesRecord, sqlite.FramesFile} {
		for name, remove := range deleteWays {
			if name == "command" && frames == sqlite.FramesFile {
				continue // once is enough: it takes long to build, and goes the way of http
			}
			t.Run(frames+"/"+name, func(t *testing.T) {
				var later atomic.Int64 // how far the host's clock is ahead
				h := hosttest.New(t, hosttest.Options{
					Store: sqlite.Config{Frames: frames},
					Profiles: map[string]host.Profile{
						sessions.DefaultProfile: {Oracle: offline.New(), Tools: hosttest.AllTools()},
						"beside":                {Oracle: offline.New()},
					},
					Config: host.Config{
						Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) },
						Retention: host.Retention{Every: 10 * time.Millisecond,
							Profiles: map[string]host.RetentionRules{sessions.DefaultProfile: {MaxAge: 24 * time.Hour}}},
					},
				})
				beside := api.Address{TargetKey: "beside", ProfileKey: "beside"}
				_, err := h.Prompt(t.Context(), &api.PromptArgs{Address: beside, Text: "stay"}, nil)
				require.NoError(t, err)
				growTree(t, h)

				h.Stop()
				lives := livesOf(t, h.File, residue)
				require.Len(t, lives, 3)
				before := takeCensus(t, h.File, residue, lives)
				require.Contains(t, before.named, "sessions.title")
				require.Subset(t, before.owned, []string{"dedupe_claims", "session_messages", "session_state", "sessions", "sub_session_refs", "turns", "usage"})
				h.Restart()

				remove(t, h, func() { later.Store(int64(48 * time.Hour)) })
				_, err = h.SessionGet(t.Context(), &api.SessionGetArgs{Address: beside})
				if name == "clear-all" || name == "clear-all of one of two owners" {
					require.Equal(t, sessions.CodeSessionNotFound, sessions.CodeOf(err))
				} else {
					require.NoError(t, err)
				}
				h.Stop()
				require.Equal(t, census{}, takeCensus(t, h.File, residue, lives))
			})
		}
	}
}

// growTree makes a root with a child and a child of that, each with something in
// whatever a client can write to.
func growTree(t *testing.T, h *hosttest.Host) {
	t.Helper()
	parent := sessions.SessionID("")
	for _, id := range []sessions.SessionID{residueRoot.SessionID, residue + "-child", residue + "-below"} {
		args := api.SessionCreateArgs{Address: api.Address{SessionID: id, TargetKey: string(id)}, Title: residue,
			Labels: map[string]string{residue: residue}, RequestID: sessions.RequestID(id + "-make")}
		if parent != "" {
			args.ParentID, args.ParentLocation = parent, sessions.Local
		}
		_, err := h.SessionCreate(t.Context(), &args)
		require.NoError(t, err)
		at := api.Address{SessionID: id}
		_, err = h.StateSet(t.Context(), &api.StateSetArgs{Address: at, Name: residue, Value: api.Of(json.RawMessage(`"` + residue + `"`))})
		require.NoError(t, err)
		_, err = h.Prompt(t.Context(), &api.PromptArgs{Address: at, Text: `/call builtin/echo {"text":"` + residue + `"}`,
			RequestID: sessions.RequestID(id + "-ask")}, nil)
		require.NoError(t, err)
		parent = id
	}
}
