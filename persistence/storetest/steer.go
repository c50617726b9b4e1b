package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testSteer(t *testing.T, f Factory) {
	f.run(t, "text waits for the turn and enters behind a step's messages", func(t *testing.T) { steerEnters(t, f) })
	f.run(t, "its claim lives as long as that of the turn", func(t *testing.T) {
		w := newWorld(t, f)
		a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		c := w.aside(a.Session, sessions.BusySteer, "text")
		w.accept(c)
		step := w.step(a)
		step.Steer = true
		a.Session = w.commit(step).Session
		w.now += 100 * day
		require.NoError(t, w.store.Sweep(t.Context(), w.now))
		require.Equal(t, a.Turn.TurnID, w.repeat(c).Turn.TurnID)
		w.commit(w.answer(a, "reply"))
		w.now += ttl - 1
		require.Equal(t, "reply", sessions.TextOf(w.repeat(c).Final.Content))
		w.now++
		_, found, err := w.store.Claim(t.Context(), owner, c.Request.ID, w.now)
		require.NoError(t, err)
		require.False(t, found)
	})
	for _, status := range []sessions.TurnStatus{sessions.TurnIsCompleted, sessions.TurnIsFailed, sessions.TurnIsInterrupted} {
		f.run(t, "text that a turn has not read when it is "+string(status)+" is next", func(t *testing.T) { steerLeft(t, f, status) })
	}
	f.run(t, "a cancel ends the text with the turn", func(t *testing.T) { steerCancelled(t, f) })
	f.run(t, "a detach leaves it and the queue", func(t *testing.T) { steerDetached(t, f) })
	f.run(t, "so many texts may wait", func(t *testing.T) {
		w := newWorld(t, f)
		a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		for i := range queueLimit {
			w.keep(a.Session, sessions.BusySteer, fmt.Sprint(i))
		}
		c := w.aside(a.Session, sessions.BusySteer, "one too many")
		_, err := w.store.AcceptTurn(t.Context(), c)
		requireCode(t, sessions.CodeAgentBusy, err)
		w.keep(a.Session, sessions.BusyQueue, "the queue is another matter")
		step := w.step(a)
		step.Steer = true
		require.Len(t, w.commit(step).Steered, queueLimit)
		w.accept(c)
	})
	f.run(t, "with queued turns alone text is next, in its order", func(t *testing.T) {
		w := newWorld(t, f)
		a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		w.keep(a.Session, sessions.BusyQueue, "queued")
		w.keep(a.Session, sessions.BusySteer, "left")
		w.commit(w.answer(a, "reply"))
		b := w.keep(a.Session, sessions.BusySteer, "late")
		require.False(t, b.Steers)
		require.Equal(t, sessions.TurnIsQueued, b.Turn.Status)
		c := w.aside(a.Session, sessions.BusySteer, "too much for the host")
		c.Admitted = false
		_, err := w.store.AcceptTurn(t.Context(), c)
		requireCode(t, sessions.CodeOverloaded, err)
		w.keep(a.Session, sessions.BusyInterrupt, "interrupts")
		require.Equal(t, []string{"interrupts", "left", "late", "queued"}, w.runQueue(a.Session.Fence))
	})
	f.run(t, "the last step of a turn takes no text in", func(t *testing.T) {
		w := newWorld(t, f)
		a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		w.keep(a.Session, sessions.BusySteer, "text")
		c := w.answer(a, "reply")
		c.Steer = true
		_, err := w.store.CommitTurn(t.Context(), c)
		requireCode(t, sessions.CodeInternal, err)
	})
}

func steerEnters(t *testing.T, f Factory) {
	w := newWorld(t, f)
	key := byKey("doc", "writer")
	a := w.accept(w.prompt(key, "question"))
	life := a.Session.Fence.Incarnation
	history, frames := w.history(life), w.frames(life)
	w.now += minute
	first, second := w.aside(a.Session, sessions.BusySteer, "first"), w.aside(a.Session, sessions.BusySteer, "second")
	b := w.accept(first)
	want := a.Session
	want.LastActiveAt = w.now
	require.Equal(t, sessions.AcceptedTurn{Session: want, Turn: a.Turn, Steers: true}, b)
	require.Equal(t, want, w.get(key))
	require.Equal(t, history, w.history(life))
	require.Equal(t, frames, w.frames(life))
	busy, err := w.store.BusyTurns(t.Context())
	require.NoError(t, err)
	require.Len(t, busy, 1, "it is no turn")
	claim, found, err := w.store.Claim(t.Context(), owner, first.Request.ID, w.now)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, a.Turn.TurnID, claim.TurnID)
	require.Equal(t, sessions.AcceptedTurn{Session: want, Turn: a.Turn, Steers: true, Duplicate: true}, w.repeat(first))
	w.accept(second)
	if f.Reopen != nil {
		w.reopen()
	}

	plain := w.step(a)
	require.Empty(t, w.commit(plain).Steered, "a step that does not ask leaves it")
	w.now += minute
	c := w.step(a)
	asks := sessions.Message{Seq: 2, Role: sessions.RoleAssistant, Content: sessions.Text("one moment")}
	c.Messages, c.Frames, c.Steer = []sessions.Message{asks}, []sessions.FrameBody{sessions.MessageAppended{Message: asks}}, true
	done := w.commit(c)
	var steered []sessions.Message
	for i, prompt := range []sessions.AcceptTurn{first, second} {
		steered = append(steered, sessions.Message{Seq: int64(3 + i), Role: sessions.RoleUser, Content: prompt.Content,
			TurnID: a.Turn.TurnID, CreatedAt: w.now})
	}
	require.Equal(t, steered, done.Steered)
	require.Equal(t, []sessions.RequestID{first.Request.ID, second.Request.ID}, done.SteeredBy)
	require.Equal(t, steered, w.history(life)[2:])
	require.Len(t, done.Frames, 3)
	for i, m := range steered {
		require.Equal(t, sessions.MessageAppended{Message: m}, done.Frames[1+i].Body)
		require.Equal(t, a.Turn.RequestID, done.Frames[1+i].RequestID)
	}
	require.Equal(t, append(frames, done.Frames...), w.frames(life))
	require.EqualValues(t, 4, done.Session.MessageCount)
	require.Equal(t, done.Session, w.get(key))
	require.False(t, w.repeat(first).Steers, "it waits no more")

	c = w.step(a)
	c.Steer = true
	require.Empty(t, w.commit(c).Steered, "it enters once")
	a.Session = done.Session
	w.commit(w.answer(a, "reply"))
	for _, prompt := range []sessions.AcceptTurn{first, second} {
		got := w.repeat(prompt)
		require.Equal(t, a.Turn.TurnID, got.Turn.TurnID)
		require.Equal(t, "reply", sessions.TextOf(got.Final.Content))
	}
	w.requireNoStart(a.Session.Fence)
}

func steerLeft(t *testing.T, f Factory, status sessions.TurnStatus) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	life, fence := a.Session.Fence.Incarnation, a.Session.Fence
	w.keep(a.Session, sessions.BusyQueue, "queued")
	w.keep(a.Session, sessions.BusyInterrupt, "interrupts")
	left := []sessions.AcceptTurn{w.aside(a.Session, sessions.BusySteer, "left"), w.aside(a.Session, sessions.BusySteer, "too")}
	for _, c := range left {
		w.accept(c)
	}
	created := w.now
	w.now += minute
	done := w.end(a, status, failure(sessions.CodeLLMAPIFailure))
	require.EqualValues(t, 4, done.Session.Queued)
	require.Len(t, done.Queued, 2)
	w.now += 100 * day
	require.NoError(t, w.store.Sweep(t.Context(), w.now))
	for i, c := range left {
		want := sessions.Turn{TurnID: c.TurnID, RequestID: c.Request.ID, Status: sessions.TurnIsQueued, CreatedAt: created, Limits: c.Limits}
		require.Equal(t, want, done.Queued[i])
		require.Equal(t, want, w.turnAt(life, c.TurnID))
		require.Equal(t, sessions.AcceptedTurn{Session: done.Session, Turn: want, Duplicate: true}, w.repeat(c))
	}
	if f.Reopen != nil {
		w.reopen()
	}
	// Text that the first of them is sent and does not read comes before the second.
	started := w.startNext(fence)
	require.Equal(t, left[0].TurnID, started.Turn.TurnID)
	require.Equal(t, left[0].TurnID, started.User.TurnID)
	w.keep(started.Session, sessions.BusySteer, "left later")
	w.commit(w.answer(started, "reply"))
	require.Equal(t, []string{"left later", "too", "interrupts", "queued"}, w.runQueue(fence))
	requireGapless(t, w.frames(life))
}

func steerCancelled(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	queued := w.keep(a.Session, sessions.BusyQueue, "queued")
	c := w.aside(a.Session, sessions.BusySteer, "unread words")
	w.accept(c)
	done := w.end(a, sessions.TurnIsCancelled, nil)
	require.Empty(t, done.Queued)
	require.EqualValues(t, 1, done.Session.Queued)
	got := w.repeat(c)
	require.Equal(t, done.Turn, got.Turn)
	require.False(t, got.Steers)
	if f.Rows != nil {
		require.Empty(t, w.rowsWith("unread words"))
	}
	started := w.startNext(a.Session.Fence)
	require.Equal(t, queued.Turn.TurnID, started.Turn.TurnID)
	w.commit(w.answer(started, "reply"))
	w.requireNoStart(a.Session.Fence)
	w.now += ttl
	_, found, err := w.store.Claim(t.Context(), owner, c.Request.ID, w.now)
	require.NoError(t, err)
	require.False(t, found)
}

func steerDetached(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	w.keep(a.Session, sessions.BusyQueue, "queued")
	w.keep(a.Session, sessions.BusySteer, "text")
	end := w.step(a)
	end.End = &sessions.TurnEnd{Status: sessions.TurnIsInterrupted, Error: failure(sessions.CodeCancelled), ClaimTTLMs: ttl, Detached: true}
	done := w.commit(end)
	require.Equal(t, sessions.StatusIdle, done.Session.Status)
	require.EqualValues(t, 2, done.Session.Queued)
	_, _, err := w.store.StartTurn(t.Context(), sessions.StartTurn{Fence: a.Session.Fence, Now: w.now})
	require.ErrorIs(t, err, sessions.ErrFenced)
	require.Equal(t, []string{"text", "queued"}, w.runQueue(done.Session.Fence))
}
