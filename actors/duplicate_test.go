package actors_test

import (
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// case 02, case 05: a repeat joins the turn in flight and gets its reply.
func TestCase02DuplicateJoinsTheTurn(t *testing.T) {
	gate := make(chan struct{})
	o := script(scripted.Step{Gate: gate, Text: "done"})
	w := world(t, o, nil)
	at := actortest.Key("a")
	first := w.Send(at, "work", actortest.As("r"))
	took := first.Accepted()
	require.False(t, took.Duplicate)
	stream := w.System.Feed().NewStream()
	defer stream.Close()
	second := w.Send(at, "work", actortest.As("r"), actortest.Following(stream))
	again := second.Accepted()
	require.True(t, again.Duplicate)
	require.Equal(t, took.Turn.TurnID, again.Turn.TurnID)
	for _, want := range []sessions.FrameType{sessions.FrameAccepted, sessions.FrameStarted, sessions.FrameMessage} {
		f, err := stream.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, f.Type())
	}
	w.Send(at, "other", actortest.As("r")).Failed(sessions.CodeRequestConflict)
	close(gate)
	a, b := first.Reply(), second.Reply()
	require.Nil(t, a.Err)
	require.True(t, b.Duplicate)
	b.Duplicate = false
	require.Equal(t, a, b)
	require.Len(t, o.Requests(), 1)
	require.Equal(t, "fine", w.Say(at, "thanks"))
}

// case 03
func TestCase03ManyEqualRequestsAtOnce(t *testing.T) {
	o := script(text("done"))
	w := world(t, o, nil)
	at := actortest.Key("a")
	replies := make(chan actors.PromptReply, 50)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { replies <- w.Send(at, "work", actortest.As("r")).Reply() })
	}
	all.Wait()
	originals := 0
	first := <-replies
	for i := range 50 {
		r := first
		if i < 49 {
			r = <-replies
		}
		require.Nil(t, r.Err)
		if !r.Duplicate {
			originals++
		}
		require.Equal(t, first.Turn.TurnID, r.Turn.TurnID)
		require.Equal(t, first.Final, r.Final)
	}
	require.Equal(t, 1, originals)
	require.Len(t, o.Requests(), 1)
	require.Len(t, w.Turns(at), 1)
	w.Send(at, "other", actortest.As("r")).Failed(sessions.CodeRequestConflict)
	w.Send(actortest.Key("b"), "work", actortest.As("r")).Failed(sessions.CodeRequestConflict)
}

// case 04: the stored reply, failures too, after the end, an eviction and a restart.
func TestCase04DuplicateOfAnEndedTurn(t *testing.T) {
	o := script(scripted.Step{Fail: "no"})
	w := actortest.Open(t, profiles(o, func(p *actors.Profile) { p.IdleTTL = time.Millisecond }), actortest.Config{})
	defer func() { w.Close() }()
	at := actortest.Key("a")
	good := w.Send(at, "hello", actortest.As("good")).Reply()
	require.Nil(t, good.Err)
	bad := w.Send(at, "work", actortest.As("bad")).Failed(sessions.CodeLLMAPIFailure)
	calls := len(o.Requests())
	repeat := func(when string) {
		t.Helper()
		again := w.Send(at, "hello", actortest.As("good")).Reply()
		require.True(t, again.Duplicate, when)
		again.Duplicate = false
		require.Equal(t, good, again, when)
		failed := w.Send(at, "work", actortest.As("bad")).Failed(sessions.CodeLLMAPIFailure)
		require.True(t, failed.Duplicate)
		require.Equal(t, true, failed.Err.Details["duplicate"])
		require.EqualValues(t, bad.Turn.TurnID, failed.Err.Details["turnId"])
		require.Equal(t, bad.Err.Message, failed.Err.Message)
		require.Len(t, o.Requests(), calls, when)

		stream := w.System.Feed().NewStream()
		defer stream.Close()
		w.Send(at, "work", actortest.As("bad"), actortest.Following(stream)).Failed(sessions.CodeLLMAPIFailure)
		for _, want := range w.Frames(at)[len(w.Frames(at))-4:] {
			f, err := stream.Next(t.Context())
			require.NoError(t, err)
			require.Equal(t, want.Seq, f.Seq, when)
		}
	}
	repeat("at once")
	w.AwaitIdle()
	repeat("after the eviction")
	w.Close()
	w = actortest.Open(t, profiles(o), actortest.Config{Path: w.Path})
	repeat("after the restart")
}

func TestDuplicateOfACancelledTurn(t *testing.T) {
	w := world(t, script(scripted.Step{Hang: true}), nil)
	at := actortest.Key("a")
	call := w.Send(at, "work", actortest.As("r"))
	call.Accepted()
	require.True(t, w.Cancel(at))
	r := call.Failed(sessions.CodeCancelled)
	again := w.Send(at, "work", actortest.As("r")).Failed(sessions.CodeCancelled)
	require.True(t, again.Duplicate)
	require.Equal(t, r.Turn.TurnID, again.Turn.TurnID)
}

func TestARequestIDIsForgottenAfterItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := script(scripted.Step{Delay: time.Hour, Text: "done"})
		w := actortest.NewInBubble(t, profiles(o, func(p *actors.Profile) { p.PromptTimeout = 2 * time.Hour }),
			actortest.Config{Config: actors.Config{DedupTTL: time.Minute}})
		require.Equal(t, time.Minute, w.System.DedupTTL())
		at := actortest.Key("a")
		first := w.Send(at, "work", actortest.As("r"))
		time.Sleep(30 * time.Minute) // a running turn is not forgotten
		second := w.Send(at, "work", actortest.As("r")).Reply()
		require.True(t, second.Duplicate)
		require.Nil(t, first.Reply().Err)
		time.Sleep(59 * time.Second)
		require.True(t, w.Send(at, "work", actortest.As("r")).Reply().Duplicate)
		time.Sleep(2 * time.Second)
		fresh := w.Send(at, "work", actortest.As("r")).Reply()
		require.False(t, fresh.Duplicate)
		require.NotEqual(t, second.Turn.TurnID, fresh.Turn.TurnID)
	})
}

// Each caller of a session gets the reply of its own request, however close the
// end of one turn and the accept of the next are.
func TestRepliesBelongToTheirRequests(t *testing.T) {
	w := world(t, scripted.Strict(oracleFunc(repeatUser)), nil)
	at := actortest.Key("a")
	const callers, each = 8, 40
	faults := make(chan string, callers)
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for i := range each {
				text := strconv.Itoa(c) + "/" + strconv.Itoa(i)
				for {
					r := w.Send(at, text, actortest.As(sessions.RequestID(text))).Reply()
					if r.Err != nil && r.Err.Code == sessions.CodeAgentBusy {
						continue
					}
					if r.Err != nil || r.Duplicate || r.Turn.RequestID != sessions.RequestID(text) || sessions.TextOf(r.Final.Content) != text {
						faults <- text
					}
					break
				}
			}
		})
	}
	all.Wait()
	close(faults)
	for f := range faults {
		require.Fail(t, "wrong reply", f)
	}
	require.Len(t, w.Turns(at), callers*each)
	require.Len(t, w.History(at), 2*callers*each)
	_, busy := w.System.Counts()
	require.Zero(t, busy)
}
