package storetest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// testWaiting looks at a turn that waits for clients, and at how it goes on.
func testWaiting(t *testing.T, f Factory) {
	f.run(t, "every read tells that a turn waits, and for what", func(t *testing.T) { waitsEverywhere(t, f) })
	f.run(t, "a turn goes on, and its waits are added up", func(t *testing.T) { waitsAddedUp(t, f) })
	f.run(t, "a wait that began later than it ends counts nothing", func(t *testing.T) {
		w := newWorld(t, f)
		a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		w.await(a, w.approval("c1"))
		w.now -= minute // the clock was set back
		require.Zero(t, w.goOn(a).Turn.WaitedMs)
	})
	f.run(t, "a step of frames alone leaves a turn waiting", func(t *testing.T) {
		w := newWorld(t, f)
		a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		before := w.await(a, w.approval("c1"), w.approval("c2"))
		w.answered(a.Session, "c1", verdict(true))
		c := w.step(a)
		c.Frames = []sessions.FrameBody{sessions.ChildChanged{SessionID: "child", Status: sessions.RefIdle}}
		w.now += minute
		done := w.commit(c)
		require.Len(t, done.Frames, 1)
		require.Equal(t, before.Turn, done.Turn)
		require.Equal(t, []sessions.Pending{before.Session.Pending[1]}, done.Session.Pending)
		if f.Reopen != nil {
			w.reopen()
		}
		require.Equal(t, done.Session, w.get(addressOf(a.Session)))
		require.Equal(t, done.Turn, w.turnAt(a.Session.Fence.Incarnation, a.Turn.TurnID))
		require.Len(t, w.waited(a).Pending, 2)
		again := w.commit(c)
		require.Len(t, again.Session.Pending, 1, "also when it is read first")
		require.Equal(t, again.Session, w.get(addressOf(a.Session)))
		w.answered(a.Session, "c2", verdict(true))
		require.Equal(t, int64(minute), w.goOn(a).Turn.WaitedMs)
		requireGapless(t, w.frames(a.Session.Fence.Incarnation))
	})
	f.run(t, "steps that do not fit are a fault and store nothing", func(t *testing.T) { waitsRefused(t, f) })
	f.run(t, "the first step of an activation may let a turn go on", func(t *testing.T) {
		w := newWorld(t, f)
		a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		w.await(a, w.approval("c1"))
		c := w.step(a)
		c.GoOn, c.Resume = true, &sessions.TurnResume{Attempts: 1}
		done := w.commit(c)
		require.Equal(t, a.Session.Fence.Epoch+1, done.Session.Fence.Epoch)
		require.Equal(t, 1, done.Turn.Attempts)
		require.Equal(t, sessions.TurnIsRunning, done.Turn.Status)
		require.Equal(t, c.Now, done.Turn.ResumedAt)
		require.Equal(t, done.Session, w.get(addressOf(a.Session)))
	})
	f.run(t, "the bound of a wait is kept with the turn", func(t *testing.T) {
		w := newWorld(t, f)
		c := w.prompt(byKey("doc", "writer"), "question")
		c.Limits.WaitTimeoutMs = 3 * minute
		a := w.accept(c)
		queued := w.aside(a.Session, sessions.BusyQueue, "next")
		queued.Limits.WaitTimeoutMs = 4 * minute
		w.accept(queued)
		text := w.aside(a.Session, sessions.BusySteer, "text")
		text.Limits.WaitTimeoutMs = 5 * minute
		w.accept(text)
		if f.Reopen != nil {
			w.reopen()
		}
		life := a.Session.Fence.Incarnation
		require.Equal(t, c.Limits, w.turnAt(life, c.TurnID).Limits)
		left := w.end(a, sessions.TurnIsFailed, failure(sessions.CodeLLMAPIFailure)).Queued
		require.Len(t, left, 1)
		require.Equal(t, text.Limits, left[0].Limits)
		require.Equal(t, text.Limits, w.turnAt(life, text.TurnID).Limits)
		require.Equal(t, text.Limits, w.startNext(a.Session.Fence).Turn.Limits)
		require.Equal(t, queued.Limits, w.turnAt(life, queued.TurnID).Limits)
	})
}

func waitsEverywhere(t *testing.T, f Factory) {
	w := newWorld(t, f)
	w.turn(byKey("idle", "writer"), "question", "reply")
	c := w.prompt(byKey("doc", "writer"), "question")
	a := w.accept(c)
	life := a.Session.Fence.Incarnation
	w.now += minute
	calls := []sessions.Pending{w.clientCall("z", `{"a": 1, "b":"<&>\u2028"}`), w.approval("y"), w.clientCall("x", `{}`)}
	step := w.awaiting(a, calls...)
	step.Usage, step.Model, step.Iterations = sessions.Usage{Calls: 1}, "model-a", 1
	done := w.commit(step)

	require.Equal(t, sessions.FrameWaiting, done.Frames[len(done.Frames)-1].Type())
	require.Equal(t, sessions.Waiting{Pending: calls}, done.Frames[len(done.Frames)-1].Body)
	require.Len(t, done.Frames, 2)
	require.Equal(t, sessions.StatusWaiting, done.Session.Status)
	require.Equal(t, &sessions.ActiveTurn{TurnID: c.TurnID, RequestID: c.Request.ID, Status: sessions.TurnIsWaiting, StartedAt: noon},
		done.Session.ActiveTurn)
	require.Equal(t, calls, done.Session.Pending)
	require.Equal(t, noon, done.Session.LastActiveAt, "a step is no activity in the list's sense")
	require.Equal(t, sessions.TurnIsWaiting, done.Turn.Status)
	require.Equal(t, w.now, done.Turn.WaitingSince)
	require.Zero(t, done.Turn.WaitedMs)

	for _, reopen := range []bool{false, f.Reopen != nil} {
		if reopen {
			w.reopen()
		}
		w.requireWaits(a, done, calls)
		require.Equal(t, sessions.WaitedCalls{Pending: calls, Answers: map[sessions.CallID]sessions.CallAnswer{}}, w.waited(a))
		require.Equal(t, done.Turn, w.repeat(c).Turn)
		require.Equal(t, done.Session, w.repeat(c).Session)
		frames := w.frames(life)
		require.Len(t, frames, len(a.Frames)+2)
		waits := frames[len(frames)-1].Body.(sessions.Waiting)
		require.Len(t, waits.Pending, 3)
		require.JSONEq(t, string(calls[0].Args), string(waits.Pending[0].Args))
	}
	w.now += minute
	made, err := w.store.CreateSession(t.Context(), sessions.CreateSession{Owner: owner, At: addressOf(a.Session), Now: w.now})
	require.NoError(t, err)
	require.Equal(t, done.Session, made.Session)
	title := "title"
	renamed, err := w.store.UpdateSession(t.Context(), sessions.UpdateSession{Owner: owner, At: addressOf(a.Session), Title: &title, Now: w.now})
	require.NoError(t, err)
	require.Equal(t, calls, renamed.Pending)
	queued := w.keep(renamed, sessions.BusyQueue, "queued")
	require.Equal(t, calls, queued.Session.Pending)
	require.Equal(t, calls, w.withdraw(a.Session.Fence, queued.Turn.RequestID).Session.Pending)
}

// requireWaits requires that the reads of sessions and turns agree on one that
// waits.
func (w *world) requireWaits(a sessions.AcceptedTurn, last sessions.CommittedTurn, calls []sessions.Pending) {
	w.t.Helper()
	require.Equal(w.t, last.Session, w.get(addressOf(a.Session)))
	require.Equal(w.t, last.Turn, w.turnAt(a.Session.Fence.Incarnation, a.Turn.TurnID))
	found, err := w.store.Resolve(w.t.Context(), owner, addressOf(a.Session))
	require.NoError(w.t, err)
	require.Equal(w.t, len(calls) > 0, found.Waits)
	idle, err := w.store.Resolve(w.t.Context(), owner, byKey("idle", "writer"))
	require.NoError(w.t, err)
	require.False(w.t, idle.Waits)
	for _, statuses := range [][]sessions.Status{nil, {last.Session.Status}, {sessions.StatusIdle, last.Session.Status}} {
		page, err := w.store.Sessions(w.t.Context(), sessions.SessionQuery{Owner: owner, Statuses: statuses})
		require.NoError(w.t, err)
		require.Contains(w.t, page.Sessions, last.Session, "%v", statuses)
		for _, s := range page.Sessions {
			require.NotNil(w.t, s.Pending)
		}
	}
	busy, err := w.store.BusyTurns(w.t.Context())
	require.NoError(w.t, err)
	require.Equal(w.t, []sessions.BusyTurn{{Turn: last.Turn, Session: last.Session}}, busy)
}

func waitsAddedUp(t *testing.T, f Factory) {
	w := newWorld(t, f)
	w.turn(byKey("idle", "writer"), "question", "reply")
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	life := a.Session.Fence.Incarnation
	for i, id := range []string{"c1", "c2"} {
		w.now += minute
		w.await(a, w.clientCall(id, `{}`))
		w.now += 7
		w.answered(a.Session, sessions.CallID(id), output(`1`))
		require.Equal(t, sessions.TurnIsWaiting, w.turnAt(life, a.Turn.TurnID).Status, "an answer alone is no end of the wait")
		w.now += 3
		done := w.goOn(a, sessions.CallID(id))
		require.EqualValues(t, 10*(i+1), done.Turn.WaitedMs)
		require.Zero(t, done.Turn.WaitingSince)
		require.Equal(t, sessions.TurnIsRunning, done.Turn.Status)
		require.Equal(t, sessions.StatusRunning, done.Session.Status)
		require.Equal(t, sessions.TurnIsRunning, done.Session.ActiveTurn.Status)
		require.Equal(t, []sessions.Pending{}, done.Session.Pending)
		if f.Reopen != nil {
			w.reopen()
		}
		w.requireWaits(a, done, nil)
		require.Empty(t, w.waited(a).Pending)
		require.Empty(t, w.waited(a).Answers)
	}
	a.Session = w.get(addressOf(a.Session))
	done := w.commit(w.answer(a, "reply"))
	require.Equal(t, sessions.TurnIsCompleted, done.Turn.Status)
	require.EqualValues(t, 20, done.Turn.WaitedMs)
	require.Equal(t, sessions.StatusIdle, done.Session.Status)
	require.Equal(t, done.Turn, w.turnAt(life, a.Turn.TurnID))
	frames := w.frames(life)
	requireGapless(t, frames)
	var kinds []sessions.FrameType
	for _, frame := range frames[len(a.Frames):] {
		kinds = append(kinds, frame.Type())
	}
	round := []sessions.FrameType{sessions.FrameMessage, sessions.FrameWaiting, sessions.FrameAnswered, sessions.FrameMessage}
	require.Equal(t, append(append(round, round...), sessions.FrameMessage, sessions.FrameCompleted), kinds)
}

func waitsRefused(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	fault := func(name string, change func(*sessions.CommitTurn)) {
		t.Helper()
		before := w.picture(addressOf(a.Session))
		c := w.step(a)
		change(&c)
		c.State = map[string]json.RawMessage{"late": json.RawMessage(`1`)}
		_, err := w.store.CommitTurn(t.Context(), c)
		require.Equal(t, sessions.CodeInternal, sessions.CodeOf(err), "%s: %v", name, err)
		require.Equal(t, before, w.picture(addressOf(a.Session)), name)
	}
	end := &sessions.TurnEnd{Status: sessions.TurnIsCancelled, ClaimTTLMs: ttl}
	one := []sessions.Pending{w.approval("c1")}
	fault("goes on without a wait", func(c *sessions.CommitTurn) { c.GoOn = true })
	fault("waits and ends", func(c *sessions.CommitTurn) { c.Wait, c.End = one, end })
	fault("waits and goes on", func(c *sessions.CommitTurn) { c.Wait, c.GoOn = one, true })
	fault("waits and takes text in", func(c *sessions.CommitTurn) { c.Wait, c.Steer = one, true })
	fault("waits for a call twice", func(c *sessions.CommitTurn) { c.Wait = append(one, one...) })
	fault("waits for nobody knows what", func(c *sessions.CommitTurn) { c.Wait = []sessions.Pending{{CallID: "c1"}} })
	w.await(a, one...)
	fault("a step of a turn that waits", func(*sessions.CommitTurn) {})
	fault("waits again", func(c *sessions.CommitTurn) { c.Wait = []sessions.Pending{w.approval("c2")} })
	fault("goes on and ends", func(c *sessions.CommitTurn) { c.GoOn, c.End = true, end })
	fault("completes while it waits", func(c *sessions.CommitTurn) { c.End = &sessions.TurnEnd{Status: sessions.TurnIsCompleted} })
	w.answered(a.Session, "c1", verdict(true))
	w.goOn(a)
	fault("goes on twice", func(c *sessions.CommitTurn) { c.GoOn = true })
	fault("waits for what was answered", func(c *sessions.CommitTurn) { c.Wait = one })
	w.await(a, w.approval("c2"))
	w.goOn(a) // without an answer
	w.await(a, w.approval("c2"))
	late := w.step(a)
	late.GoOn, late.Fence.Epoch = true, late.Fence.Epoch+1
	_, err := w.store.CommitTurn(t.Context(), late)
	require.ErrorIs(t, err, sessions.ErrFenced)
	require.Equal(t, sessions.StatusWaiting, w.get(addressOf(a.Session)).Status)
}
