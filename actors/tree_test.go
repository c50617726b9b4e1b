package actors_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
)

// bear makes a session with an id, below a parent unless that is "".
func bear(t testing.TB, store sessions.Store, id, parent sessions.SessionID, keys ...sessions.Key) {
	t.Helper()
	c := sessions.CreateSession{
		Owner: actortest.Owner, At: sessions.Address{ID: id}, Profile: sessions.DefaultProfile, ParentID: parent, Now: 1,
	}
	if parent != "" {
		c.ParentLocation = sessions.Local
	}
	for _, key := range keys {
		c.At.Key = key
	}
	made, err := store.CreateSession(t.Context(), c)
	require.NoError(t, err)
	require.True(t, made.Created)
}

// bearTree makes a tree of depth 3: a root, two children, and two of each.
func bearTree(t testing.TB, w *actortest.World, root sessions.SessionID) []sessions.SessionID {
	t.Helper()
	bear(t, w.Store, root, "")
	ids := []sessions.SessionID{root}
	for child := range 2 {
		id := sessions.SessionID(fmt.Sprint(root, "-", child))
		bear(t, w.Store, id, root)
		ids = append(ids, id)
		for grandchild := range 2 {
			below := sessions.SessionID(fmt.Sprint(id, "-", grandchild))
			bear(t, w.Store, below, id)
			ids = append(ids, below)
		}
	}
	return ids
}

// requireNothing requires that the store has no session, now and for a host
// that starts on it.
func requireNothing(t testing.TB, w *actortest.World) {
	t.Helper()
	page, err := w.Store.Sessions(t.Context(), sessions.SessionQuery{Owner: actortest.Owner, Limit: 10})
	require.NoError(t, err)
	require.Empty(t, page.Sessions)
	busy, err := w.Store.BusyTurns(t.Context())
	require.NoError(t, err)
	require.Empty(t, busy)
}

func TestDeleteATreeAtWork(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	w := actortest.Open(t, profiles(script(scripted.Step{Hang: true})), actortest.Config{Path: path})
	ids := bearTree(t, w, "r")
	bear(t, w.Store, "alone", "r") // never in memory
	bear(t, w.Store, "idle", "r-0-0")
	w.Say(actortest.ID("idle"), "hello")
	owner := w.System.Feed().SubscribeOwner(actortest.Owner)
	defer owner.Close()
	var running []*actortest.Call
	for _, id := range ids {
		running = append(running, w.Send(actortest.ID(id), "work"))
		running[len(running)-1].Accepted()
	}
	r := w.Delete(actortest.ID("r"))
	require.EqualValues(t, len(ids)+2, r.Receipt.Sessions)
	require.True(t, r.Receipt.Complete)
	require.False(t, r.Pending)
	resident, busy := w.System.Counts()
	require.Zero(t, resident)
	require.Zero(t, busy)
	for _, call := range running {
		require.NotEmpty(t, call.Failed(sessions.CodeSessionDeleted).Err.Details["turnId"])
	}
	gone := map[sessions.SessionID]bool{}
	for len(gone) < len(ids)+2 {
		f, err := owner.Next(t.Context())
		require.NoError(t, err)
		if change := f.Body.(sessions.SessionChanged); change.Change == sessions.SessionGone {
			gone[change.SessionID] = true
		}
	}
	for _, id := range append(ids, "alone", "idle") {
		require.True(t, gone[id], id)
		w.Send(actortest.ID(id), "hello").Failed(sessions.CodeSessionNotFound)
	}
	w.Close()
	w = actortest.New(t, profiles(script()), actortest.Config{Path: path})
	require.NoError(t, w.System.Recover(t.Context()))
	requireNothing(t, w)
}

// A grandchild that is busy keeps the whole tree, byte for byte.
func TestDeleteATreeUnlessBusy(t *testing.T) {
	gate := make(chan struct{})
	w := world(t, script(scripted.Step{Gate: gate, Text: "done"}), nil)
	bearTree(t, w, "r")
	call := w.Send(actortest.ID("r-1-0"), "work")
	call.Accepted()
	before := digest(t, w.Path)
	for _, id := range []sessions.SessionID{"r", "r-1", "r-1-0"} {
		_, err := w.System.Delete(t.Context(), actors.Delete{Owner: actortest.Owner, At: actortest.ID(id), RejectIfBusy: true})
		require.Equal(t, sessions.CodeConflict, sessions.CodeOf(err), id)
	}
	require.Equal(t, before, digest(t, w.Path))
	close(gate)
	require.Equal(t, "done", call.Completed())
	require.Equal(t, "fine", w.Say(actortest.ID("r"), "hello"), "the mark is lifted")
	r, err := w.System.Delete(t.Context(), actors.Delete{Owner: actortest.Owner, At: actortest.ID("r"), RejectIfBusy: true})
	require.NoError(t, err)
	require.EqualValues(t, 7, r.Receipt.Sessions)
	requireNothing(t, w)
}

// digest sums up the bytes of the store's files. Another process reads them:
// closing them in this one would drop the store's locks.
func digest(t testing.TB, path string) string {
	t.Helper()
	sums, err := exec.Command("sh", "-c", `cksum "$1" "$1-wal"`, "sh", path).CombinedOutput()
	require.NoError(t, err, string(sums))
	return string(sums)
}

func TestDeleteThatDetachesTheChildren(t *testing.T) {
	gate := make(chan struct{})
	w := world(t, script(scripted.Step{Gate: gate, Text: "done"}), nil)
	bearTree(t, w, "r")
	parent, child := w.Send(actortest.ID("r"), "work"), w.Send(actortest.ID("r-0"), "work")
	parent.Accepted()
	child.Accepted()
	r, err := w.System.Delete(t.Context(), actors.Delete{Owner: actortest.Owner, At: actortest.ID("r"), Children: sessions.Detach})
	require.NoError(t, err)
	require.EqualValues(t, 1, r.Receipt.Sessions)
	parent.Failed(sessions.CodeSessionDeleted)
	close(gate)
	require.Equal(t, "done", child.Completed())
	require.Empty(t, w.Session(actortest.ID("r-0")).ParentID)
	require.EqualValues(t, 3, w.Delete(actortest.ID("r-0")).Receipt.Sessions)
}

func TestDeleteThatRetentionAsksFor(t *testing.T) {
	w := world(t, script(), nil)
	bearTree(t, w, "r")
	w.Say(actortest.ID("r-0-0"), "hello")
	retire := func(before sessions.Time) (actors.DeleteReply, error) {
		return w.System.Delete(t.Context(), actors.Delete{
			Owner: actortest.Owner, At: actortest.ID("r"), Retire: &sessions.Retirement{Before: before},
		})
	}
	_, err := retire(w.Session(actortest.ID("r-0-0")).LastActiveAt)
	require.Equal(t, sessions.CodeConflict, sessions.CodeOf(err))
	require.Equal(t, "fine", w.Say(actortest.ID("r-0-0"), "still here"))
	r, err := retire(w.Session(actortest.ID("r-0-0")).LastActiveAt + 1)
	require.NoError(t, err)
	require.EqualValues(t, 7, r.Receipt.Sessions)
}

// case 25: the tool of a grandchild ends with the tree.
func TestCase25DeleteStopsTheToolsOfATree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heart := filepath.Join(t.TempDir(), "heart")
		beats := make(chan struct{}, 1)
		beat := invoke(func(ctx context.Context, _ tools.Call) (json.RawMessage, error) {
			for n := 0; ; n++ {
				if err := os.WriteFile(heart, []byte(strings.Repeat(".", n)), 0o600); err != nil {
					return nil, err
				}
				if n == 3 {
					beats <- struct{}{}
				}
				select {
				case <-time.After(10 * time.Millisecond):
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
		})
		w := actortest.NewInBubble(t, profiles(script(calls("/t/beat"))), actortest.Config{
			Config: actors.Config{Tools: treeOf(t, mounts{"/t/beat": beat})},
		})
		bearTree(t, w, "r")
		call := w.Send(actortest.ID("r-1-1"), "work")
		<-beats
		require.EqualValues(t, 7, w.Delete(actortest.ID("r")).Receipt.Sessions)
		call.Failed(sessions.CodeSessionDeleted)
		last, err := os.ReadFile(heart)
		require.NoError(t, err)
		time.Sleep(time.Minute)
		after, err := os.ReadFile(heart)
		require.NoError(t, err)
		require.Equal(t, last, after)
	})
}

// case 26: models that answer two seconds after the delete change nothing, at
// any level of the tree; the delete waits for them.
func TestCase26LateAnswersInATree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	synctest.Test(t, func(t *testing.T) {
		w := actortest.NewInBubble(t, profiles(oracleFunc(func(_ context.Context, _ oracle.Request, yield func(oracle.Part, error) bool) {
			time.Sleep(2 * time.Second) // whatever its context says
			yield(oracle.TextDelta{Text: "late"}, nil)
		})), actortest.Config{Path: path})
		var running []*actortest.Call
		for _, id := range bearTree(t, w, "r") {
			running = append(running, w.Send(actortest.ID(id), "work"))
			running[len(running)-1].Accepted()
		}
		synctest.Wait()
		began := time.Now()
		r := w.Delete(actortest.ID("r"))
		require.Equal(t, 2*time.Second, time.Since(began))
		require.False(t, r.Pending)
		require.EqualValues(t, 7, r.Receipt.Sessions)
		for _, call := range running {
			call.Failed(sessions.CodeSessionDeleted)
		}
		requireNothing(t, w)
	})
	w := actortest.New(t, profiles(script()), actortest.Config{Path: path})
	require.NoError(t, w.System.Recover(t.Context()))
	requireNothing(t, w)
}

// case 29: what the old life has still to write does not come to the new one.
func TestCase29AnewWhileOldWritesWait(t *testing.T) {
	g := &gatedStore{}
	w := actortest.New(t, profiles(script(calls("/t/note"), text("old"))), actortest.Config{
		Config: actors.Config{Tools: treeOf(t, mounts{"/t/note": output("1")})}, Wrap: g.wrap,
	})
	at := actortest.Key("a")
	late, asked := make(chan struct{}), make(chan struct{})
	g.set(func(g *gatedStore) {
		g.onCommit = func(sessions.CommitTurn) error { close(asked); <-late; return nil }
	})
	old := w.Send(at, "work")
	<-asked
	g.set(func(g *gatedStore) { g.onCommit = nil })
	deleted := w.Deleting(at)
	old.Failed(sessions.CodeSessionDeleted)
	require.Equal(t, "fine", w.Say(at, "new"))
	close(late)
	require.EqualValues(t, 1, (<-deleted).Receipt.Sessions)
	history := w.History(at)
	require.Len(t, history, 2)
	require.Equal(t, "new", sessions.TextOf(history[0].Content))
	require.Len(t, w.Turns(at), 1)
	w.Frames(at)
}

// The store may find children of a session that is gone itself.
func TestDeleteOfAnIdWithoutASessionReachesItsChildren(t *testing.T) {
	g := &gatedStore{}
	w := actortest.New(t, profiles(script(scripted.Step{Hang: true})), actortest.Config{Wrap: g.wrap})
	bear(t, w.Store, "left", "")
	call := w.Send(actortest.ID("left"), "work")
	call.Accepted()
	g.set(func(g *gatedStore) {
		g.onDelete = func(c *sessions.DeleteSession) error { c.At.ID = "left"; return nil }
	})
	require.EqualValues(t, 1, w.Delete(actortest.ID("gone")).Receipt.Sessions)
	call.Failed(sessions.CodeSessionDeleted)
	w.Send(actortest.ID("left"), "hello").Failed(sessions.CodeSessionNotFound)
	requireNothing(t, w)
}

func TestAnnounce(t *testing.T) {
	told := make(chan struct{}, 10)
	g := &gatedStore{}
	w := actortest.New(t, profiles(script()), actortest.Config{
		Config: actors.Config{Announce: func() { told <- struct{}{} }}, Wrap: g.wrap,
	})
	bearTree(t, w, "r")
	w.Delete(actortest.ID("nobody"))
	g.set(func(g *gatedStore) { g.onDelete = func(*sessions.DeleteSession) error { return away } })
	_, err := w.System.Delete(t.Context(), actors.Delete{Owner: actortest.Owner, At: actortest.ID("r")})
	require.ErrorIs(t, err, away)
	require.Empty(t, told)
	g.set(func(g *gatedStore) { g.onDelete = nil })
	w.Delete(actortest.ID("r"))
	require.Len(t, told, 1)
	bear(t, w.Store, "other", "")
	clearAll(t, w)
	require.Len(t, told, 2)
	unheard, err := w.Store.Unheard(t.Context(), 100)
	require.NoError(t, err)
	require.Len(t, unheard, 8)
}
