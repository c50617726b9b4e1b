package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
)

// steers is an option: the prompt is text for the active turn.
var steers = with(sessions.BusySteer)

// roles lists the roles of a history.
func roles(history []sessions.Message) []sessions.Role {
	all := make([]sessions.Role, len(history))
	for i, m := range history {
		all[i] = m.Role
	}
	return all
}

const (
	userRole      = sessions.RoleUser
	assistantRole = sessions.RoleAssistant
	toolRole      = sessions.RoleTool
)

// Text that comes while tools run is read after all their results and before the
// next model call.
func TestSteerEntersBehindTheResults(t *testing.T) {
	gate := make(chan struct{})
	o := script(calls("/t/one", "/t/gated", "/t/two"), text("unused"))
	w := world(t, o, mounts{"/t/one": output(`1`), "/t/two": output(`2`), "/t/gated": gated(gate)})
	at := actortest.Key("a")
	first := w.Send(at, "work")
	id := first.Accepted().Turn.TurnID
	require.NoError(t, o.Await(t.Context(), 1))
	stream := w.System.Feed().NewStream()
	defer stream.Close()
	text := w.Send(at, "look left", steers, actortest.Following(stream))
	took := text.Accepted()
	require.True(t, took.Waits)
	require.Equal(t, id, took.Turn.TurnID)
	more := w.Send(at, "and right", steers)
	more.Accepted()
	close(gate)
	r := first.Reply()
	require.Nil(t, r.Err)
	for _, call := range []*actortest.Call{text, more} {
		require.Equal(t, r, call.Reply(), "the reply is the turn's")
	}
	history := w.History(at)
	require.Equal(t, []sessions.Role{userRole, assistantRole, toolRole, toolRole, toolRole, userRole, userRole, assistantRole}, roles(history))
	require.Equal(t, []string{"work", "look left", "and right"}, users(history))
	require.Equal(t, history[:7], o.Requests()[1].Messages, "the model sees what is stored")
	require.Len(t, w.Turns(at), 1)
	f, err := stream.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, "look left", sessions.TextOf(f.Body.(sessions.MessageAppended).Message.Content))
	for !f.Type().Terminal() {
		f, err = stream.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, id, f.TurnID)
	}
	requireNoBusy(t, w)
}

// Text that finds no further model call is the next turn, before what is queued.
func TestSteerOfATurnThatEndsFirst(t *testing.T) {
	gate := make(chan struct{})
	o := gatedWork(gate)
	w := world(t, o, nil)
	at := actortest.Key("a")
	first := w.Send(at, "work")
	first.Accepted()
	require.NoError(t, o.Await(t.Context(), 1))
	queued := w.Send(at, "queued", with(sessions.BusyQueue))
	queued.Accepted()
	stream := w.System.Feed().NewStream()
	defer stream.Close()
	text := w.Send(at, "text", steers, actortest.As("s"), actortest.Following(stream))
	took := text.Accepted()
	again := w.Send(at, "text", actortest.As("s"))
	require.True(t, again.Accepted().Waits)
	second := w.Send(at, "second", steers)
	second.Accepted()
	close(gate)
	require.Equal(t, "done", first.Completed())
	r := text.Reply()
	require.Nil(t, r.Err)
	require.False(t, r.Duplicate)
	require.NotEqual(t, took.Turn.TurnID, r.Turn.TurnID)
	dup := again.Reply()
	require.True(t, dup.Duplicate)
	require.Equal(t, r.Turn.TurnID, dup.Turn.TurnID)
	require.Equal(t, "fine", second.Completed())
	require.Equal(t, "fine", queued.Completed())
	require.Equal(t, []string{"work", "text", "second", "queued"}, users(w.History(at)))
	f, err := stream.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, sessions.FrameAccepted, f.Type())
	require.Equal(t, r.Turn.TurnID, f.TurnID)
	requireNoBusy(t, w)
}

// However the turn ends before it has read the text, its caller gets one answer.
func TestSteerOfATurnThatIsCut(t *testing.T) {
	ends := map[string]struct {
		end  func(w *actortest.World, at sessions.Address)
		code sessions.Code // "" when the text is a turn of its own then
	}{
		"cancel": {func(w *actortest.World, at sessions.Address) { require.True(w.T, w.Cancel(at)) }, sessions.CodeCancelled},
		"close": {func(w *actortest.World, at sessions.Address) {
			_, err := w.System.Close(w.T.Context(), actors.Close{Owner: actortest.Owner, At: at})
			require.NoError(w.T, err)
		}, sessions.CodeCancelled},
		"delete": {func(w *actortest.World, at sessions.Address) { w.Delete(at) }, sessions.CodeSessionDeleted},
		"clear": {func(w *actortest.World, _ sessions.Address) {
			_, err := w.System.ClearAll(w.T.Context(), actors.ClearAll{Owner: actortest.Owner})
			require.NoError(w.T, err)
		}, sessions.CodeSessionDeleted},
		"detach": {func(w *actortest.World, at sessions.Address) {
			_, err := w.System.Detach(w.T.Context(), actors.Detach{Owner: actortest.Owner, At: at})
			require.NoError(w.T, err)
		}, ""},
		"interrupt": {func(w *actortest.World, at sessions.Address) {
			require.Equal(w.T, "fine", w.Say(at, "urgent", with(sessions.BusyInterrupt)))
		}, sessions.CodeCancelled},
	}
	for name, c := range ends {
		t.Run(name, func(t *testing.T) {
			w := world(t, script(scripted.Step{Hang: true}), nil)
			at := actortest.Key("a")
			first := w.Send(at, "work")
			took := first.Accepted()
			stream := w.System.Feed().NewStream()
			defer stream.Close()
			text := w.Send(at, "text", steers, actortest.As("s"), actortest.Following(stream))
			text.Accepted()
			c.end(w, at)
			require.NotNil(t, first.Reply().Err)
			if c.code == "" {
				require.Equal(t, "fine", text.Completed())
				requireNoBusy(t, w)
				return
			}
			r := text.Failed(c.code)
			require.EqualValues(t, took.Turn.TurnID, r.Err.Details["turnId"])
			if c.code == sessions.CodeCancelled {
				f, err := stream.Next(t.Context())
				require.NoError(t, err)
				require.Equal(t, sessions.FrameCancelled, f.Type())
				w.Send(at, "text", actortest.As("s")).Failed(sessions.CodeCancelled)
				require.NotContains(t, users(w.History(at)), "text")
			}
			requireNoBusy(t, w)
		})
	}
}

func TestCancelWithdrawsText(t *testing.T) {
	gate := make(chan struct{})
	o := script(calls("/t/gated"), text("done"))
	w := world(t, o, mounts{"/t/gated": gated(gate)})
	at := actortest.Key("a")
	first := w.Send(at, "work")
	first.Accepted()
	text := w.Send(at, "text", steers, actortest.As("s"))
	text.Accepted()
	require.True(t, cancelRequest(t, w, at, "s"))
	text.Failed(sessions.CodeCancelled)
	require.False(t, cancelRequest(t, w, at, "s"))
	close(gate)
	require.Equal(t, "done", first.Completed())
	require.Equal(t, []string{"work"}, users(w.History(at)))
	w.Send(at, "text", actortest.As("s")).Failed(sessions.CodeCancelled)
	requireNoBusy(t, w)
}

// The turn has read the text: its caller waits for the turn, a repeat joins it,
// and a cancel of the text comes too late.
func TestTextThatWasReadIsTheTurns(t *testing.T) {
	gates := []chan struct{}{make(chan struct{}), make(chan struct{})}
	o := scripted.Strict(scripted.New(calls("/t/first"), calls("/t/second"), text("done")))
	w := world(t, o, mounts{"/t/first": gated(gates[0]), "/t/second": gated(gates[1])})
	at := actortest.Key("a")
	first := w.Send(at, "work")
	first.Accepted()
	call := w.Send(at, "text", steers, actortest.As("s"))
	call.Accepted()
	close(gates[0])
	require.NoError(t, o.Await(t.Context(), 2))
	require.False(t, cancelRequest(t, w, at, "s"))
	again := w.Send(at, "text", actortest.As("s"))
	took := again.Accepted()
	require.True(t, took.Duplicate)
	require.False(t, took.Waits)
	close(gates[1])
	require.Equal(t, "done", first.Completed())
	require.Equal(t, "done", call.Completed())
	require.Equal(t, "done", again.Completed())
	require.Equal(t, "done", w.Say(at, "text", actortest.As("s")), "the stored end")
	require.Len(t, w.Turns(at), 1)
	requireNoBusy(t, w)
}

// Text of the last host: after a restart it is read before the next model call.
func TestSteerHoldsAfterARestart(t *testing.T) {
	w := actortest.Open(t, profiles(script(scripted.Step{Hang: true})), actortest.Config{})
	at := actortest.Key("a")
	first := w.Send(at, "work", actortest.As("r"))
	first.Accepted()
	text := w.Send(at, "text", steers, actortest.As("s"))
	text.Accepted()
	gate := make(chan struct{})
	o := scripted.Strict(scripted.New(scripted.Step{Gate: gate, Text: "done"}))
	again := cutAndReopen(t, w, profiles(o), nil)
	text.Failed(sessions.CodeHostStopping)
	first.Failed(sessions.CodeHostStopping)
	require.NoError(t, o.Await(t.Context(), 1))
	joined := again.Send(at, "text", actortest.As("s"))
	require.True(t, joined.Accepted().Duplicate)
	close(gate)
	require.Equal(t, "done", joined.Completed())
	require.Equal(t, "done", again.Say(at, "work", actortest.As("r")))
	require.Equal(t, []string{"work", "text"}, users(again.History(at)))
	require.Len(t, o.Requests(), 1)
	requireNoBusy(t, again)
}

// Text that came to the last host in a tool which may not be run again: the turn
// ends, and the text is the next one. Meanwhile it can be withdrawn.
func TestSteerOfATurnThatARestartEnds(t *testing.T) {
	started := make(chan struct{}, 1)
	w := actortest.Open(t, profiles(script(calls("/t/hang"))), actortest.Config{Config: actors.Config{
		Tools: treeOf(t, mounts{"/t/hang": hang(started)}),
	}})
	at := actortest.Key("a")
	first := w.Send(at, "work", actortest.As("r"))
	<-started
	w.Send(at, "text", steers, actortest.As("s")).Accepted()
	w = cutAndReopen(t, w, profiles(script()), nil)
	first.Failed(sessions.CodeHostStopping)
	require.Equal(t, "fine", w.Say(at, "text", actortest.As("s")))
	w.Send(at, "work", actortest.As("r")).Failed(sessions.CodeHostRestarted)
	require.Equal(t, []string{"work", "text"}, users(w.History(at)))
	requireNoBusy(t, w)
}

// 20 texts in a race with the steps of a turn: each is read once, and each caller
// gets the end of the turn that has read it.
func TestManySteersRaceATurn(t *testing.T) {
	w := actortest.New(t, profiles(scripted.Strict(steps(6))), actortest.Config{Config: actors.Config{
		Tools: treeOf(t, mounts{"/t/one": output(`1`)}), Limits: sessions.Limits{QueuedPrompts: 20},
	}})
	for round := range 10 {
		at := actortest.Key("k" + strconv.Itoa(round))
		first := w.Send(at, "work")
		first.Accepted()
		var all sync.WaitGroup
		replies := make([]actors.PromptReply, 20)
		for i := range replies {
			all.Go(func() { replies[i] = w.Send(at, "text "+strconv.Itoa(i), steers).Reply() })
		}
		all.Wait()
		require.Nil(t, first.Reply().Err)
		history := w.History(at)
		readBy := map[string]sessions.TurnID{}
		for _, m := range history {
			if m.Role == sessions.RoleUser {
				require.NotContains(t, readBy, sessions.TextOf(m.Content))
				readBy[sessions.TextOf(m.Content)] = m.TurnID
			}
		}
		require.Len(t, readBy, 21)
		for i, r := range replies {
			require.Nil(t, r.Err)
			require.Equal(t, readBy["text "+strconv.Itoa(i)], r.Turn.TurnID)
		}
	}
	requireNoBusy(t, w)
}

// A profile that lets a failed call end the turn sees it behind text, too.
func TestFailedCallEndsATurnThatHasReadText(t *testing.T) {
	began, gate := make(chan struct{}), make(chan struct{})
	bad := invoke(func(context.Context, tools.Call) (json.RawMessage, error) {
		close(began)
		<-gate
		return nil, errors.New("broken")
	})
	w := world(t, script(calls("/t/bad"), text("done")), mounts{"/t/bad": bad}, func(p *actors.Profile) {
		p.OnToolError = actors.Fail
	})
	at := actortest.Key("a")
	first := w.Send(at, "work")
	<-began // before, the text would be read by the first model call
	call := w.Send(at, "text", steers)
	call.Accepted()
	close(gate)
	first.Failed(sessions.CodeToolInvokeFailed)
	call.Failed(sessions.CodeToolInvokeFailed)
	requireNoBusy(t, w)
}

// steps is an oracle that calls /t/one until the history has n results.
func steps(n int) oracleFunc {
	return func(_ context.Context, r oracle.Request, yield func(oracle.Part, error) bool) {
		left := n
		for _, m := range r.Messages {
			if m.Role == sessions.RoleTool {
				left--
			}
		}
		if left > 0 {
			yield(oracle.ToolCall{Function: "/t/one"}, nil)
			return
		}
		yield(oracle.TextDelta{Text: "done"}, nil)
	}
}

// slowWithdrawal is a store whose answer to a withdrawal comes late.
type slowWithdrawal struct {
	sessions.Store
	stored, answers chan struct{}
}

func (s *slowWithdrawal) WithdrawTurn(ctx context.Context, c sessions.WithdrawTurn) (sessions.WithdrawnTurn, bool, error) {
	done, found, err := s.Store.WithdrawTurn(ctx, c)
	close(s.stored)
	<-s.answers
	return done, found, err
}

// Text is withdrawn, and its turn ends before the agent hears of that: the caller
// is not told that a turn has answered what it has not read.
func TestTextIsWithdrawnAsItsTurnEnds(t *testing.T) {
	gate := make(chan struct{})
	o := gatedWork(gate)
	slow := &slowWithdrawal{stored: make(chan struct{}), answers: make(chan struct{})}
	w := actortest.New(t, profiles(o), actortest.Config{Wrap: func(s sessions.Store) sessions.Store {
		slow.Store = s
		return slow
	}})
	at := actortest.Key("a")
	first := w.Send(at, "work")
	require.NoError(t, o.Await(t.Context(), 1))
	text := w.Send(at, "text", steers, actortest.As("s"))
	text.Accepted()
	cancelled := make(chan bool, 1)
	go func() {
		did, _ := w.System.Cancel(context.Background(), actors.Cancel{Owner: actortest.Owner, At: at, RequestID: "s"})
		cancelled <- did
	}()
	<-slow.stored
	close(gate)
	require.Equal(t, "done", first.Completed())
	close(slow.answers)
	text.Failed(sessions.CodeCancelled)
	require.True(t, <-cancelled)
	require.Equal(t, []string{"work"}, users(w.History(at)))
}
