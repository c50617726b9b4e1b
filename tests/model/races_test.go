package model

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

// race is one round: a session, and two commands that race for it.
type race struct {
	*world
	t  *testing.T
	at api.Address // its id
}

// raceRounds runs a race again and again, each time on a session of its own
// with one turn behind it and one value of state.
func raceRounds(t *testing.T, round func(r *race)) {
	t.Helper()
	for _, s := range []setting{{sqlite.FramesRecord, time.Hour}, {sqlite.FramesFile, time.Millisecond}} {
		t.Run(fmt.Sprint(s.frames, " ", s.idle), func(t *testing.T) {
			w := newWorld(t, s)
			defer w.end()
			for n := range *rounds / 2 {
				r := &race{world: w, t: t, at: address{id: fmt.Sprint("s", n)}.wire()}
				_, code := ask(w, (*hostAccess).SessionSeed, &api.SessionSeedArgs{
					Address:  r.at,
					Messages: []api.SeedMessage{{Role: sessions.RoleUser, Content: sessions.Text("old")}},
					State:    map[string]json.RawMessage{"old": json.RawMessage("1")},
				})
				require.Empty(t, code)
				_, code = ask(w, prompt, &api.PromptArgs{Address: r.at, Text: "say first"})
				require.Empty(t, code)
				round(r)
			}
		})
	}
}

// together runs both sides at about the same time, in an order left to chance.
func together(one, other func()) {
	var both sync.WaitGroup
	start := make(chan struct{})
	for _, side := range []func(){one, other} {
		pause := rand.IntN(64)
		both.Go(func() {
			<-start
			for range pause {
				runtime.Gosched()
			}
			side()
		})
	}
	close(start)
	both.Wait()
}

func (r *race) remove(how api.IfBusy) (*api.SessionDeleteResult, sessions.Code) {
	return ask(r.world, (*hostAccess).SessionDelete, &api.SessionDeleteArgs{Address: r.at, IfBusy: how})
}

// requireGone checks that there is no session, and that one of the same id has
// nothing of the old one.
func (r *race) requireGone() {
	r.t.Helper()
	_, code := ask(r.world, (*hostAccess).SessionGet, &api.SessionGetArgs{Address: r.at})
	require.Equal(r.t, sessions.CodeSessionNotFound, code)
	got, code := ask(r.world, (*hostAccess).SessionCreate, &api.SessionCreateArgs{Address: r.at})
	require.Empty(r.t, code)
	require.True(r.t, got.Created)
	r.requireMessages(0)
	r.requireState()
	frames, code := ask(r.world, (*hostAccess).Frames, &api.FramesArgs{Address: r.at})
	require.Empty(r.t, code)
	require.Empty(r.t, frames.Frames)
}

func (r *race) requireMessages(n int) {
	r.t.Helper()
	got, code := ask(r.world, (*hostAccess).Messages, &api.MessagesArgs{Address: r.at})
	require.Empty(r.t, code)
	require.Len(r.t, got.Messages, n)
	require.NoError(r.t, sessions.CheckPairing("", got.Messages))
}

func (r *race) requireState(names ...string) {
	r.t.Helper()
	got, code := ask(r.world, (*hostAccess).State, &api.StateArgs{Address: r.at})
	require.Empty(r.t, code)
	require.Len(r.t, got.State, len(names))
	for _, name := range names {
		require.EqualValues(r.t, 1, got.State[name].Version, name)
	}
}

// A delete that cancels wins in both orders: the prompt came before it and was
// ended or had ended, or it found no session.
func TestPromptAgainstDelete(t *testing.T) {
	raceRounds(t, func(r *race) {
		var told sessions.Code
		together(
			func() { _, told = ask(r.world, prompt, &api.PromptArgs{Address: r.at, Text: "tooling second"}) },
			func() {
				got, code := r.remove(api.IfBusyCancel)
				require.Empty(r.t, code)
				require.True(r.t, got.Deleted)
			},
		)
		require.Contains(r.t, []sessions.Code{"", sessions.CodeSessionDeleted, sessions.CodeSessionNotFound}, told)
		r.requireGone()
	})
}

// A delete that does not cancel loses against a prompt that was accepted, and
// wins against one that was not.
func TestPromptAgainstRejectingDelete(t *testing.T) {
	raceRounds(t, func(r *race) {
		text := "hold " + string(r.at.SessionID)
		var prompted, removed sessions.Code
		together(
			func() {
				_, prompted = ask(r.world, prompt, &api.PromptArgs{Address: r.at, Text: text, RequestID: sessions.RequestID(text), Wait: api.WaitAccepted})
			},
			func() { _, removed = r.remove(api.IfBusyReject) },
		)
		if prompted != "" {
			require.Contains(r.t, []sessions.Code{sessions.CodeSessionDeleted, sessions.CodeSessionNotFound}, prompted)
			require.Empty(r.t, removed)
			r.requireGone()
			return
		}
		require.Equal(r.t, sessions.CodeConflict, removed)
		r.player.release(text)
		got, code := ask(r.world, prompt, &api.PromptArgs{Address: r.at, Text: text, RequestID: sessions.RequestID(text)})
		require.Empty(r.t, code)
		require.True(r.t, got.Duplicate)
		r.requireMessages(5)
		r.requireState("old")
	})
}

// A delete that is refused changes not one byte of any file, nor does a prompt
// that is refused meanwhile.
func TestRefusedDeleteChangesNothing(t *testing.T) {
	raceRounds(t, func(r *race) {
		text := "hold " + string(r.at.SessionID)
		_, code := ask(r.world, prompt, &api.PromptArgs{Address: r.at, Text: text, RequestID: sessions.RequestID(text), Wait: api.WaitAccepted})
		require.Empty(r.t, code)
		r.player.await(r.t, text, 1)
		before := r.digest()
		together(
			func() {
				_, code := r.remove(api.IfBusyReject)
				require.Equal(r.t, sessions.CodeConflict, code)
			},
			func() {
				_, code := ask(r.world, prompt, &api.PromptArgs{Address: r.at, Text: "say no"})
				require.Equal(r.t, sessions.CodeAgentBusy, code)
			},
		)
		require.Equal(r.t, before, r.digest())
		r.player.release(text)
		_, code = ask(r.world, prompt, &api.PromptArgs{Address: r.at, Text: text, RequestID: sessions.RequestID(text)})
		require.Empty(r.t, code)
	})
}

// A value is written to the session that is deleted, or to none.
func TestStateAgainstDelete(t *testing.T) {
	raceRounds(t, func(r *race) {
		together(
			func() {
				got, code := ask(r.world, (*hostAccess).StateSet, &api.StateSetArgs{
					Address: r.at, Name: "new", Value: api.Of(json.RawMessage("2")),
				})
				if code == "" {
					require.EqualValues(r.t, 1, got.Version)
				} else {
					require.Equal(r.t, sessions.CodeSessionNotFound, code)
				}
			},
			func() {
				_, code := r.remove(api.IfBusyReject)
				require.Empty(r.t, code)
			},
		)
		r.requireGone()
	})
}

// A transcript goes to the session that is deleted, or begins a new one.
func TestSeedAgainstDelete(t *testing.T) {
	raceRounds(t, func(r *race) {
		together(
			func() {
				_, code := ask(r.world, (*hostAccess).SessionSeed, &api.SessionSeedArgs{
					Address:  r.at,
					Messages: []api.SeedMessage{{Role: sessions.RoleUser, Content: sessions.Text("new")}},
					State:    map[string]json.RawMessage{"new": json.RawMessage("2")},
				})
				require.Empty(r.t, code)
			},
			func() {
				got, code := r.remove(api.IfBusyReject)
				require.Empty(r.t, code)
				require.True(r.t, got.Deleted)
			},
		)
		if _, code := ask(r.world, (*hostAccess).SessionGet, &api.SessionGetArgs{Address: r.at}); code != "" {
			r.requireGone()
			return
		}
		r.requireMessages(1)
		r.requireState("new")
	})
}

// A close is of the session that is deleted, or of none; whichever comes first,
// the session is gone.
func TestCloseAgainstDelete(t *testing.T) {
	raceRounds(t, func(r *race) {
		text := "hold " + string(r.at.SessionID)
		reply := make(chan sessions.Code, 1)
		go func() {
			_, code := ask(r.world, prompt, &api.PromptArgs{Address: r.at, Text: text})
			reply <- code
		}()
		r.player.await(r.t, text, 1)
		var closed sessions.Code
		together(
			func() { _, closed = ask(r.world, (*hostAccess).SessionClose, &api.SessionCloseArgs{Address: r.at}) },
			func() {
				got, code := r.remove(api.IfBusyCancel)
				require.Empty(r.t, code)
				require.True(r.t, got.Deleted)
			},
		)
		require.Contains(r.t, []sessions.Code{"", sessions.CodeSessionNotFound, sessions.CodeSessionDeleted}, closed)
		told := <-reply
		require.Contains(r.t, []sessions.Code{sessions.CodeCancelled, sessions.CodeSessionDeleted}, told)
		if closed == "" {
			require.Equal(r.t, sessions.CodeCancelled, told)
		}
		r.requireGone()
	})
}

// A prompt comes before the close, which cancels it unless it has ended, or is
// refused.
func TestCloseAgainstPrompt(t *testing.T) {
	raceRounds(t, func(r *race) {
		var told sessions.Code
		together(
			func() { _, told = ask(r.world, prompt, &api.PromptArgs{Address: r.at, Text: "tooling second"}) },
			func() {
				_, code := ask(r.world, (*hostAccess).SessionClose, &api.SessionCloseArgs{Address: r.at})
				require.Empty(r.t, code)
			},
		)
		require.Contains(r.t, []sessions.Code{"", sessions.CodeCancelled, sessions.CodeSessionClosed}, told)
		got, code := ask(r.world, (*hostAccess).SessionGet, &api.SessionGetArgs{Address: r.at})
		require.Empty(r.t, code)
		require.Equal(r.t, sessions.StatusClosed, got.Session.Status)
		turns := int64(2)
		if told == sessions.CodeSessionClosed {
			turns = 1
		}
		require.Equal(r.t, turns, got.Session.TurnCount)
		require.Nil(r.t, got.Session.ActiveTurn)
		messages, code := ask(r.world, (*hostAccess).Messages, &api.MessagesArgs{Address: r.at})
		require.Empty(r.t, code)
		require.NoError(r.t, sessions.CheckPairing("", messages.Messages))
	})
}
