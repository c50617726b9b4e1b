package storetest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// testWaitEnds looks at turns that end while they wait, and at what else may meet
// a session that waits.
func testWaitEnds(t *testing.T, f Factory) {
	for _, c := range []struct {
		name string
		end  sessions.TurnEnd
		then sessions.Status
	}{
		{"cancelled", sessions.TurnEnd{Status: sessions.TurnIsCancelled}, sessions.StatusIdle},
		{"failed", sessions.TurnEnd{Status: sessions.TurnIsFailed, Error: failure(sessions.CodeAgentTimeout)}, sessions.StatusFailed},
		{"interrupted", sessions.TurnEnd{Status: sessions.TurnIsInterrupted, Error: failure(sessions.CodeHostRestarted)}, sessions.StatusFailed},
		{"detached", sessions.TurnEnd{Status: sessions.TurnIsInterrupted, Error: failure(sessions.CodeCancelled), Detached: true}, sessions.StatusIdle},
	} {
		f.run(t, "a turn that waits is "+c.name, func(t *testing.T) {
			w := newWorld(t, f)
			a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
			w.await(a, w.approval("c1"), w.approval("c2"))
			w.answered(a.Session, "c1", verdict(true))
			w.now += minute
			step := w.step(a)
			step.End = &c.end
			done := w.commit(step)
			require.Equal(t, c.then, done.Session.Status)
			require.Nil(t, done.Session.ActiveTurn)
			require.Equal(t, []sessions.Pending{}, done.Session.Pending)
			require.Equal(t, c.end.Status, done.Turn.Status)
			require.EqualValues(t, minute, done.Turn.WaitedMs)
			require.Zero(t, done.Turn.WaitingSince)
			if f.Reopen != nil {
				w.reopen()
			}
			require.Equal(t, done.Session, w.get(addressOf(a.Session)))
			require.Equal(t, done.Turn, w.turnAt(a.Session.Fence.Incarnation, a.Turn.TurnID))
			require.Empty(t, w.waited(a).Pending)
			busy, err := w.store.BusyTurns(t.Context())
			require.NoError(t, err)
			require.Empty(t, busy)
			w.repeated(a.Session, "c1", verdict(true))
			w.turn(addressOf(a.Session), "next", "reply")
		})
	}
	f.run(t, "a session that waits is busy", func(t *testing.T) { waitIsBusy(t, f) })
	f.run(t, "prompts wait with the turn", func(t *testing.T) { promptsWait(t, f) })
	f.run(t, "a delete takes what waits along, and counts it", func(t *testing.T) { waitDeleted(t, f) })
	f.run(t, "a fork of a session that waits is cut", func(t *testing.T) { waitForked(t, f) })
	f.run(t, "a turn that waits keeps all of its frames", func(t *testing.T) {
		if f.Keeping == nil {
			t.Skip("this store cannot be told what to keep")
		}
		w := &world{t: t, f: f, store: f.Keeping(t, 3), now: noon}
		a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		w.await(a, w.approval("c1"))
		got := w.answered(a.Session, "c1", verdict(true))
		require.Len(t, w.frames(a.Session.Fence.Incarnation), int(got.Session.LastFrame))
	})
	f.run(t, "what a client's tool is survives with the turn", func(t *testing.T) {
		w := newWorld(t, f)
		c := w.prompt(byKey("doc", "writer"), "question")
		c.Inference.ClientTools = []sessions.ClientTool{
			{Path: "/client/pick", Description: "Lets the user pick <one>.", Schema: json.RawMessage(`{"z":1,"a":{"type":"string"}}`)},
			{Path: "/client/beep", Description: "Beeps."},
		}
		a := w.accept(c)
		require.Equal(t, c.Inference, a.Turn.Inference)
		queued := w.aside(a.Session, sessions.BusyQueue, "next")
		queued.Inference = c.Inference
		w.accept(queued)
		if f.Reopen != nil {
			w.reopen()
		}
		require.Equal(t, c.Inference, w.turnAt(a.Session.Fence.Incarnation, c.TurnID).Inference)
		w.end(a, sessions.TurnIsCancelled, nil)
		require.Equal(t, c.Inference, w.startNext(a.Session.Fence).Turn.Inference)
	})
}

func waitIsBusy(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	done := w.await(a, w.approval("c1"))
	at := addressOf(a.Session)
	_, err := w.close(at, "done")
	requireCode(t, sessions.CodeAgentBusy, err)
	_, err = w.store.SeedSession(t.Context(), w.seed(at))
	requireCode(t, sessions.CodeAgentBusy, err)
	_, err = w.store.AcceptTurn(t.Context(), w.prompt(at, "next"))
	requireCode(t, sessions.CodeAgentBusy, err)
	_, _, err = w.tryDelete(sessions.DeleteSession{At: at, RejectIfBusy: true})
	require.ErrorIs(t, err, sessions.ErrTreeBusy)
	w.requireNoStart(a.Session.Fence)
	require.Equal(t, done.Session, w.get(at))
	require.NoError(t, w.store.Sweep(t.Context(), w.now+100*day))
	require.Equal(t, done.Session, w.get(at))
	_, err = w.set(at, "state", `1`, nil)
	require.NoError(t, err)
}

func promptsWait(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	w.await(a, w.approval("c1"))
	text := w.keep(a.Session, sessions.BusySteer, "text")
	require.True(t, text.Steers)
	require.Equal(t, sessions.TurnIsWaiting, text.Turn.Status)
	w.keep(a.Session, sessions.BusyQueue, "queued")
	require.EqualValues(t, 1, w.get(addressOf(a.Session)).Queued)
	w.answered(a.Session, "c1", verdict(true))
	w.goOn(a, "c1")
	step := w.step(a)
	step.Steer = true
	done := w.commit(step)
	require.Len(t, done.Steered, 1, "text is read by the first step behind the results")
	require.EqualValues(t, 1, done.Session.Queued)
	a.Session = done.Session
	w.commit(w.answer(a, "reply"))
	require.Equal(t, []string{"queued"}, w.runQueue(a.Session.Fence))
}

func waitDeleted(t *testing.T, f Factory) {
	w := newWorld(t, f)
	w.turn(byKey("first", "writer"), "question", "reply")
	before := w.census()
	for _, how := range []string{"delete", "clear", "detach"} {
		w.root("parent")
		w.child("parent", "child")
		a := w.accept(w.prompt(byID("child"), "question"))
		w.await(a, w.approval("c0"))
		w.answered(a.Session, "c0", verdict(true))
		w.goOn(a)
		w.await(a, w.approval("c1"), w.clientCall("c2", `{}`))
		w.answered(a.Session, "c1", verdict(true))
		var receipt sessions.Receipt
		switch how {
		case "delete":
			receipt = w.remove(byID("parent"))
		case "detach":
			_, gone := w.delete(sessions.DeleteSession{At: byID("parent"), Children: sessions.Detach})
			require.Len(t, gone, 1)
			require.Len(t, w.get(byID("child")).Pending, 1)
			w.answered(a.Session, "c2", output(`1`))
			receipt = w.remove(byID("child"))
		case "clear":
			receipt = w.clear(owner)
			w.turn(byKey("first", "writer"), "question", "reply")
		}
		require.EqualValues(t, 3, receipt.Rows["waited_calls"], how)
		_, err := w.give(a.Session, "c2", output(`1`))
		requireCode(t, sessions.CodeSessionNotFound, err)
		goOn := w.step(a)
		goOn.GoOn = true
		_, err = w.store.CommitTurn(t.Context(), goOn)
		require.ErrorIs(t, err, sessions.ErrFenced)
		require.Equal(t, before["waited_calls"], w.census()["waited_calls"], how)
	}
}

func waitForked(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	done := w.await(a, w.clientCall("c1", `{}`), w.approval("c2"))
	w.answered(a.Session, "c1", output(`1`))
	done.Session = w.get(addressOf(a.Session))
	fork, err := w.store.ForkSession(t.Context(), w.fork(addressOf(a.Session), 0))
	optional(t, err)
	require.Equal(t, sessions.StatusCreated, fork.Session.Status)
	require.Empty(t, fork.Session.Pending)
	history := w.history(fork.Session.Fence.Incarnation)
	require.Len(t, history, 4)
	for i, id := range []sessions.CallID{"c1", "c2"} {
		require.Equal(t, id, history[2+i].ToolCallID)
		require.NotNil(t, history[2+i].Error)
	}
	require.Equal(t, done.Session, w.get(addressOf(a.Session)))
	w.refusedAnswer(sessions.CodeNotFound, fork.Session, "c2", verdict(true))
	w.turn(addressOf(fork.Session), "next", "reply")
}
