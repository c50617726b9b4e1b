package actors_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

func TestOutageAtTheAccept(t *testing.T) {
	g := &gatedStore{}
	w := actortest.New(t, profiles(script()), actortest.Config{Wrap: g.wrap})
	at := actortest.Key("a")
	g.set(func(g *gatedStore) { g.onAccept = func(sessions.AcceptTurn) error { return away } })
	w.Send(at, "hello", actortest.As("r")).Failed(sessions.CodeStoreUnavailable)
	g.set(func(g *gatedStore) { g.onAccept = nil })
	r := w.Send(at, "hello", actortest.As("r")).Reply()
	require.Nil(t, r.Err)
	require.False(t, r.Duplicate)
	_, busy := w.System.Counts()
	require.Zero(t, busy)
}

// The store is away for a while from some commit of the turn on: the caller is
// told, the turn waits for the store and comes to its real end.
func TestOutageInMidTurn(t *testing.T) {
	commits := map[string]func(sessions.CommitTurn) bool{
		"answer with calls": func(c sessions.CommitTurn) bool { return len(c.Messages) == 1 && len(c.Messages[0].ToolCalls) > 0 },
		"results":           func(c sessions.CommitTurn) bool { return len(c.Messages) == 2 },
		"a result's frame":  func(c sessions.CommitTurn) bool { return len(c.Messages) == 0 && c.End == nil },
		"the end":           func(c sessions.CommitTurn) bool { return c.End != nil },
	}
	for name, isIt := range commits {
		t.Run(name, func(t *testing.T) {
			g := &gatedStore{}
			release := make(chan struct{})
			w := actortest.New(t, profiles(script(calls("/t/one", "/t/two"), text("done")), func(p *actors.Profile) {
				p.IdleTTL = time.Millisecond
			}), actortest.Config{
				Config: actors.Config{Tools: treeOf(t, mounts{"/t/one": output(`1`), "/t/two": gated(release)})}, Wrap: g.wrap,
			})
			at := actortest.Key("a")
			down := false
			g.set(func(g *gatedStore) {
				g.onCommit = func(c sessions.CommitTurn) error {
					g.mu.Lock()
					defer g.mu.Unlock()
					if down = down || isIt(c); down {
						return away
					}
					return nil
				}
			})
			call := w.Send(at, "work", actortest.As("r"))
			if name != "a result's frame" {
				close(release)
			}
			r := call.Failed(sessions.CodeStoreUnavailable)
			require.NotEmpty(t, r.Err.Details["turnId"])
			w.Eventually(func() bool { return g.refusals() >= 2 }, "that it is tried again")
			joined := w.Send(at, "work", actortest.As("r"))
			require.True(t, joined.Accepted().Duplicate)
			if name == "a result's frame" {
				close(release)
			}
			g.set(func(g *gatedStore) { g.onCommit = nil })
			end := joined.Reply()
			if end.Err != nil { // told of the outage too, if a later commit met it first
				require.Equal(t, sessions.CodeStoreUnavailable, end.Err.Code)
				end = w.Send(at, "work", actortest.As("r")).Reply()
			}
			require.Nil(t, end.Err)
			require.Equal(t, "done", sessions.TextOf(end.Final.Content))
			require.Len(t, w.History(at), 5)
			requireResultOfEach(t, w, at, 2)
			require.Equal(t, "fine", w.Say(at, "go on"))
		})
	}
}

func TestCancelDuringAnOutage(t *testing.T) {
	g := &gatedStore{}
	w := actortest.New(t, profiles(script(scripted.Step{Text: "half", Hang: true})), actortest.Config{Wrap: g.wrap})
	at := actortest.Key("a")
	call := w.Send(at, "work", actortest.As("r"))
	call.Accepted()
	g.set(func(g *gatedStore) { g.onCommit = func(sessions.CommitTurn) error { return away } })
	_, err := w.System.Cancel(t.Context(), actors.Cancel{Owner: actortest.Owner, At: at})
	require.Equal(t, sessions.CodeStoreUnavailable, sessions.CodeOf(err))
	call.Failed(sessions.CodeStoreUnavailable)
	joined := w.Send(at, "work", actortest.As("r"))
	joined.Accepted()
	g.set(func(g *gatedStore) { g.onCommit = nil })
	joined.Failed(sessions.CodeCancelled)
	require.Equal(t, "fine", w.Say(at, "go on"))
}

// A close that is told of an outage goes on, and its caller has had its answer.
func TestCloseDuringAnOutageIsAnsweredOnce(t *testing.T) {
	g := &gatedStore{}
	w := actortest.New(t, profiles(script(scripted.Step{Text: "half", Hang: true})), actortest.Config{Wrap: g.wrap})
	at := actortest.Key("a")
	call := w.Send(at, "work")
	call.Accepted()
	g.set(func(g *gatedStore) { g.onCommit = func(sessions.CommitTurn) error { return away } })
	reply := make(chan actors.SessionReply, 1)
	w.System.ActorSystem().Root.Send(w.System.Root(), &actors.Close{Owner: actortest.Owner, At: at, Reply: reply})
	require.Equal(t, sessions.CodeStoreUnavailable, (<-reply).Err.Code)
	call.Failed(sessions.CodeStoreUnavailable)
	g.set(func(g *gatedStore) { g.onCommit = nil })
	w.Send(at, "more").Failed(sessions.CodeSessionClosed) // behind the close
	require.Empty(t, reply)
}

// A delete ends also what waits for the store.
func TestDeleteDuringAnOutageOfTheEnd(t *testing.T) {
	g := &gatedStore{}
	w := actortest.New(t, profiles(script(text("done"))), actortest.Config{Wrap: g.wrap})
	at := actortest.Key("a")
	g.set(func(g *gatedStore) { g.onCommit = func(sessions.CommitTurn) error { return away } })
	w.Send(at, "work", actortest.As("r")).Failed(sessions.CodeStoreUnavailable)
	joined := w.Send(at, "work", actortest.As("r"))
	joined.Accepted()
	require.EqualValues(t, 1, w.Delete(at).Receipt.Sessions)
	joined.Failed(sessions.CodeSessionDeleted)
	_, busy := w.System.Counts()
	require.Zero(t, busy)
	g.set(func(g *gatedStore) { g.onCommit = nil })
	require.Equal(t, "done", w.Say(at, "work"))
}

// A store that refuses a commit for good ends the turn, not the host.
func TestCommitThatIsRefusedForGood(t *testing.T) {
	g := &gatedStore{}
	w := actortest.New(t, profiles(script(calls("/t/one"), text("done"))), actortest.Config{
		Config: actors.Config{Tools: treeOf(t, mounts{"/t/one": output(`1`)})}, Wrap: g.wrap,
	})
	at := actortest.Key("a")
	refusal := sessions.Errorf(sessions.CodeInternal, "No.")
	g.set(func(g *gatedStore) {
		g.onCommit = func(c sessions.CommitTurn) error {
			if len(c.Messages) > 0 && c.End == nil {
				return refusal
			}
			return nil
		}
	})
	w.Send(at, "work").Failed(sessions.CodeInternal)
	g.set(func(g *gatedStore) { g.onCommit = nil })
	require.Equal(t, "fine", w.Say(at, "go on"))
}
