package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testQueue(t *testing.T, f Factory) {
	f.run(t, "what is stored of a queued prompt, and of its start", func(t *testing.T) { queueStores(t, f) })
	f.run(t, "to a session that is not busy every policy is the same", func(t *testing.T) {
		w := newWorld(t, f)
		for _, policy := range []sessions.BusyPolicy{sessions.BusyReject, sessions.BusyQueue, sessions.BusyInterrupt, sessions.BusySteer} {
			c := w.prompt(byKey("doc", "writer"), "question")
			c.Busy = policy // no turn may be queued, and none is
			a := w.accept(c)
			require.Equal(t, sessions.TurnIsRunning, a.Turn.Status)
			require.False(t, a.Steers)
			require.NotNil(t, a.User)
			require.Equal(t, sessions.Accepted{}, a.Frames[0].Body)
			w.commit(w.answer(a, "reply"))
		}
	})
	f.run(t, "a prompt that minds is refused, also by queued turns alone", func(t *testing.T) { queueMinds(t, f) })
	f.run(t, "what else is refused leaves the request id free", func(t *testing.T) { queueRefuses(t, f) })
	f.run(t, "a repeat joins the queued turn, however long it waits", func(t *testing.T) { queueRepeats(t, f) })
	f.run(t, "a new activation takes the active turn over", func(t *testing.T) {
		w := newWorld(t, f)
		a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		c := w.aside(a.Session, sessions.BusyQueue, "queued")
		c.Fence = sessions.Fence{}
		b := w.accept(c)
		require.Equal(t, a.Session.Fence.Epoch+1, b.Session.Fence.Epoch)
		w.requireNothing(w.answer(a, "reply"), sessions.ErrFenced)
		a.Session = b.Session
		w.commit(w.answer(a, "reply"))
	})
	f.run(t, "a queued turn takes no step", func(t *testing.T) {
		w := newWorld(t, f)
		a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
		b := w.keep(a.Session, sessions.BusyQueue, "queued")
		for _, c := range []sessions.CommitTurn{w.step(b), w.answer(b, "reply")} {
			_, err := w.store.CommitTurn(t.Context(), c)
			requireCode(t, sessions.CodeInternal, err)
		}
		w.commit(w.answer(a, "reply"))
		require.Equal(t, []string{"queued"}, w.runQueue(a.Session.Fence))
	})
	f.run(t, "case-49: a queue filled to its limit and past it", func(t *testing.T) { queueFills(t, f) })
	f.run(t, "the preview is of the first text", func(t *testing.T) {
		w := newWorld(t, f)
		c := w.prompt(byKey("doc", "writer"), "")
		c.Content = []sessions.Content{{Type: sessions.ContentImage, URL: "https://example.com/a.png", MediaType: "image/png"}}
		a := w.accept(c)
		require.Empty(t, a.Session.Preview)
		b := w.keep(a.Session, sessions.BusyQueue, "words")
		require.Equal(t, "words", b.Session.Preview)
	})
	f.run(t, "a turn that is active keeps its frames beside those of one withdrawn", func(t *testing.T) { queueRetains(t, f) })
}

func queueStores(t *testing.T, f Factory) {
	w := newWorld(t, f)
	key := byKey("doc", "writer")
	a := w.accept(w.prompt(key, "question"))
	life, fence := a.Session.Fence.Incarnation, a.Session.Fence
	other := w.session()
	history, frames := w.history(life), w.frames(life)
	w.now += minute
	c := w.aside(a.Session, sessions.BusyQueue, "queued")
	c.Inference.Params.Seed = new(int64(7))
	b := w.accept(c)

	turn := sessions.Turn{TurnID: c.TurnID, RequestID: c.Request.ID, Status: sessions.TurnIsQueued, CreatedAt: w.now,
		Limits: c.Limits, Inference: c.Inference}
	session := a.Session
	session.Queued, session.LastActiveAt = 1, w.now
	require.Equal(t, sessions.AcceptedTurn{Session: session, Turn: turn}, b)
	require.Equal(t, session, w.get(key))
	require.Equal(t, turn, w.turnAt(life, c.TurnID))
	require.Equal(t, history, w.history(life))
	require.Equal(t, frames, w.frames(life))
	page, err := w.store.Sessions(t.Context(), sessions.SessionQuery{Owner: owner})
	require.NoError(t, err)
	require.Equal(t, []sessions.SessionID{session.ID, other.ID}, idsOf(page.Sessions), "it is activity")
	of, err := w.store.Frames(t.Context(), life, sessions.FrameQuery{TurnID: c.TurnID})
	require.NoError(t, err)
	require.Empty(t, of.Frames)
	require.Empty(t, of.Missing)
	busy, err := w.store.BusyTurns(t.Context())
	require.NoError(t, err)
	require.Equal(t, []sessions.BusyTurn{{Turn: a.Turn, Session: session}, {Turn: turn, Session: session}}, busy)

	w.requireNoStart(fence)
	done := w.commit(w.answer(a, "reply"))
	require.EqualValues(t, 1, done.Session.Queued)
	require.Equal(t, sessions.StatusIdle, done.Session.Status)
	w.now += minute
	started := w.startNext(fence)
	user := sessions.Message{Seq: 3, Role: sessions.RoleUser, Content: c.Content, TurnID: c.TurnID, CreatedAt: w.now}
	turn.Status, turn.StartedAt, turn.FirstFrame, turn.UserSeq = sessions.TurnIsRunning, w.now, done.Session.LastFrame+1, 3
	want := done.Session
	want.Status, want.Queued, want.MessageCount, want.LastFrame = sessions.StatusRunning, 0, 3, done.Session.LastFrame+3
	want.ActiveTurn = &sessions.ActiveTurn{TurnID: c.TurnID, RequestID: c.Request.ID, Status: sessions.TurnIsRunning, StartedAt: w.now}
	require.Equal(t, want, started.Session)
	require.Equal(t, turn, started.Turn)
	require.Equal(t, &user, started.User)
	bodies := []sessions.FrameBody{sessions.Accepted{QueuedMs: minute}, sessions.Started{}, sessions.MessageAppended{Message: user}}
	require.Len(t, started.Frames, len(bodies))
	for i, frame := range started.Frames {
		require.Equal(t, sessions.Frame{Seq: turn.FirstFrame + int64(i), Cursor: sessions.CursorAt(life, turn.FirstFrame+int64(i)),
			TurnID: c.TurnID, RequestID: c.Request.ID, At: w.now, Body: bodies[i]}, frame)
	}
	require.Equal(t, want, w.get(key))
	require.Equal(t, turn, w.turnAt(life, c.TurnID))
	require.Equal(t, user, w.history(life)[2])
	require.Equal(t, started.Frames, w.frames(life)[done.Session.LastFrame:])
	w.requireNoStart(fence)
	_, _, err = w.store.StartTurn(t.Context(), sessions.StartTurn{Fence: sessions.Fence{Incarnation: life, Epoch: fence.Epoch + 1}, Now: w.now})
	require.ErrorIs(t, err, sessions.ErrFenced)

	end := w.commit(w.answer(started, "second reply"))
	require.EqualValues(t, 2, end.Session.TurnCount)
	require.Equal(t, "second reply", sessions.TextOf(w.repeat(c).Final.Content))
	requireGapless(t, w.frames(life))
}

func queueMinds(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	w.keep(a.Session, sessions.BusyQueue, "queued")
	refuse := func() {
		t.Helper()
		before := w.rows()
		for _, policy := range []sessions.BusyPolicy{"", sessions.BusyReject} {
			_, err := w.store.AcceptTurn(t.Context(), w.aside(a.Session, policy, "no"))
			requireCode(t, sessions.CodeAgentBusy, err)
		}
		for _, policy := range []sessions.BusyPolicy{sessions.BusyQueue, sessions.BusyInterrupt, sessions.BusySteer} {
			c := w.retry(addressOf(a.Session), "")
			c.Busy, c.QueueLimit = policy, queueLimit
			_, err := w.store.AcceptTurn(t.Context(), c)
			requireCode(t, sessions.CodeAgentBusy, err)
		}
		_, err := w.store.SeedSession(t.Context(), w.seed(addressOf(a.Session)))
		requireCode(t, sessions.CodeAgentBusy, err)
		_, _, err = w.tryDelete(sessions.DeleteSession{At: addressOf(a.Session), RejectIfBusy: true})
		require.ErrorIs(t, err, sessions.ErrTreeBusy)
		requireCode(t, sessions.CodeConflict, w.retire(a.Session.ID, sessions.Retirement{Before: w.now + day}))
		page, err := w.store.Retirable(t.Context(), sessions.RetireQuery{})
		require.NoError(t, err)
		require.Empty(t, page.Roots)
		require.Equal(t, before, w.rows(), "not a byte has changed")
	}
	refuse()
	w.end(a, sessions.TurnIsFailed, failure(sessions.CodeLLMAPIFailure))
	refuse()
	require.Equal(t, []string{"queued"}, w.runQueue(a.Session.Fence))
	w.turn(byKey("doc", "writer"), "question", "reply")
}

func queueRefuses(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	for _, policy := range []sessions.BusyPolicy{sessions.BusyQueue, sessions.BusyInterrupt, sessions.BusySteer} {
		for name, c := range map[string]struct {
			spoil func(*sessions.AcceptTurn)
			code  sessions.Code
			steer sessions.Code
		}{
			"of an old activation": {func(c *sessions.AcceptTurn) { c.Fence.Epoch-- }, sessions.CodeConflict, sessions.CodeConflict},
			"no room in the queue": {func(c *sessions.AcceptTurn) { c.QueueLimit = 0 }, sessions.CodeAgentBusy, sessions.CodeAgentBusy},
			"no room in the host":  {func(c *sessions.AcceptTurn) { c.Admitted = false }, sessions.CodeOverloaded, ""},
		} {
			prompt := w.aside(a.Session, policy, "text")
			c.spoil(&prompt)
			before := w.rows()
			_, err := w.store.AcceptTurn(t.Context(), prompt)
			want := c.code
			if policy == sessions.BusySteer {
				want = c.steer
			}
			if want == "" {
				require.NoError(t, err, "a text is no turn")
				continue
			}
			requireCode(t, want, err)
			require.Equal(t, before, w.rows(), name)
			_, found, err := w.store.Claim(t.Context(), owner, prompt.Request.ID, w.now)
			require.NoError(t, err)
			require.False(t, found, name)
		}
	}
}

func queueRepeats(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	c := w.aside(a.Session, sessions.BusyQueue, "queued")
	b := w.accept(c)
	w.now += 100 * day
	require.NoError(t, w.store.Sweep(t.Context(), w.now))
	require.Equal(t, sessions.AcceptedTurn{Session: b.Session, Turn: b.Turn, Duplicate: true}, w.repeat(c))
	other := w.again(c)
	other.Request.Fingerprint = fingerprint("another")
	_, err := w.store.AcceptTurn(t.Context(), other)
	requireCode(t, sessions.CodeRequestConflict, err)
	if f.Reopen != nil {
		w.reopen()
		require.Equal(t, b.Turn, w.repeat(c).Turn)
	}
	w.commit(w.answer(a, "reply"))
	started := w.startNext(a.Session.Fence)
	require.Equal(t, started.Turn, w.repeat(c).Turn)
	w.commit(w.answer(started, "reply"))
	w.now += ttl - 1
	require.NotNil(t, w.repeat(c).Final)
	w.now++
	_, found, err := w.store.Claim(t.Context(), owner, c.Request.ID, w.now)
	require.NoError(t, err)
	require.False(t, found)
}

// queueFills sends more prompts at once than fit.
func queueFills(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	life := a.Session.Fence.Incarnation
	prompts := make([]sessions.AcceptTurn, 2*queueLimit)
	for i := range prompts {
		policy := sessions.BusyQueue
		if i%4 == 0 {
			policy = sessions.BusyInterrupt
		}
		prompts[i] = w.aside(a.Session, policy, fmt.Sprint(i))
	}
	answers, errs := w.acceptAll(prompts)
	var queued int
	for i, err := range errs {
		_, claimed, claimErr := w.store.Claim(t.Context(), owner, prompts[i].Request.ID, w.now)
		require.NoError(t, claimErr)
		require.Equal(t, err == nil, claimed)
		if err != nil {
			requireCode(t, sessions.CodeAgentBusy, err)
			continue
		}
		queued++
		require.Equal(t, sessions.TurnIsQueued, answers[i].Turn.Status)
	}
	require.Equal(t, queueLimit, queued)
	require.EqualValues(t, queueLimit, w.get(addressOf(a.Session)).Queued)

	w.commit(w.answer(a, "reply"))
	next := w.startNext(a.Session.Fence)
	w.keep(a.Session, sessions.BusyQueue, "one more fits")
	_, err := w.store.AcceptTurn(t.Context(), w.aside(a.Session, sessions.BusyQueue, "and no other"))
	requireCode(t, sessions.CodeAgentBusy, err)
	w.commit(w.answer(next, "reply"))
	require.Len(t, w.runQueue(a.Session.Fence), queueLimit)
	for i, c := range prompts {
		if errs[i] == nil {
			require.Equal(t, sessions.TurnIsCompleted, w.repeat(c).Turn.Status)
		}
	}
	require.Len(t, w.history(life), 2*(queueLimit+2))
	requireGapless(t, w.frames(life))
}

func queueRetains(t *testing.T, f Factory) {
	if f.Keeping == nil {
		t.Skip("this store cannot be told what to keep")
	}
	const keep = 10
	w := &world{t: t, f: f, store: f.Keeping(t, keep), now: noon}
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	life := a.Session.Fence.Incarnation
	waits := w.keep(a.Session, sessions.BusyQueue, "waits")
	gone := w.keep(a.Session, sessions.BusyQueue, "gone")
	for i := range 2 * keep {
		if i == keep {
			w.withdraw(a.Session.Fence, gone.Turn.RequestID)
		}
		c := w.step(a)
		c.Frames = []sessions.FrameBody{sessions.TextPart{Step: 1, Attempt: 1, Text: "word "}}
		w.commit(c)
	}
	requireGapless(t, w.frames(life))
	require.Len(t, w.frames(life), 3+2*keep+1)
	own, err := w.store.Frames(t.Context(), life, sessions.FrameQuery{TurnID: gone.Turn.TurnID})
	require.NoError(t, err)
	require.Len(t, own.Frames, 1)
	require.Equal(t, sessions.Cancelled{}, own.Frames[0].Body)
	own, err = w.store.Frames(t.Context(), life, sessions.FrameQuery{TurnID: a.Turn.TurnID})
	require.NoError(t, err)
	require.Len(t, own.Frames, 3+2*keep)
	require.Empty(t, own.Missing)

	a.Session = w.get(addressOf(a.Session))
	w.commit(w.answer(a, "reply"))
	page, err := w.store.Frames(t.Context(), life, sessions.FrameQuery{})
	require.NoError(t, err)
	require.Len(t, page.Frames, keep)
	started := w.startNext(a.Session.Fence)
	require.Equal(t, waits.Turn.TurnID, started.Turn.TurnID)
	w.commit(w.answer(started, "reply"))
}
