package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// retirable returns all roots that a rule names, page by page.
func (w *world) retirable(q sessions.RetireQuery) (roots []sessions.Retiree) {
	w.t.Helper()
	q.Limit = 3
	for range 100 {
		page, err := w.store.Retirable(w.t.Context(), q)
		require.NoError(w.t, err)
		require.LessOrEqual(w.t, len(page.Roots), q.Limit)
		roots = append(roots, page.Roots...)
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			return roots
		}
	}
	w.t.Fatal("the pages have no end")
	return nil
}

// requireRetirable requires that a rule names exactly these, in this order.
func (w *world) requireRetirable(q sessions.RetireQuery, want ...sessions.SessionID) {
	w.t.Helper()
	var got []sessions.SessionID
	for _, root := range w.retirable(q) {
		got = append(got, root.ID)
	}
	require.Equal(w.t, want, got)
}

// made makes a session a minute after everything before it.
func (w *world) made(id sessions.SessionID, c sessions.CreateSession) sessions.Session {
	w.t.Helper()
	w.now += minute
	c.At.ID = id
	return w.create(c)
}

func testRetire(t *testing.T, f Factory) {
	_, err := newWorld(t, f).store.Retirable(t.Context(), sessions.RetireQuery{})
	optional(t, err)
	f.run(t, "by age", func(t *testing.T) { retireByAge(t, f) })
	f.run(t, "by count", func(t *testing.T) { retireByCount(t, f) })
	f.run(t, "those without a turn", func(t *testing.T) {
		w := newWorld(t, f)
		w.made("blank", sessions.CreateSession{})
		w.made("prompted", sessions.CreateSession{})
		w.turn(byID("prompted"), "question", "reply")
		w.made("running", sessions.CreateSession{})
		w.accept(w.prompt(byID("running"), "question"))
		w.made("young", sessions.CreateSession{})
		w.requireRetirable(sessions.RetireQuery{Blank: true}, "blank", "young")
		w.requireRetirable(sessions.RetireQuery{Blank: true, Before: w.now}, "blank")
	})
	f.run(t, "of a profile", func(t *testing.T) {
		w := newWorld(t, f)
		for i, profile := range []string{"a", "b", "a", "b", "a"} {
			w.made(sessions.SessionID(fmt.Sprint(profile, i)), sessions.CreateSession{Profile: profile})
		}
		w.requireRetirable(sessions.RetireQuery{Profile: "a"}, "a0", "a2", "a4")
		w.requireRetirable(sessions.RetireQuery{Profile: "b", Beyond: 1}, "b1")
		w.requireRetirable(sessions.RetireQuery{Profile: "c"})
	})
	f.run(t, "not what is below another, busy or damaged", func(t *testing.T) { retireNot(t, f) })
	f.run(t, "a cursor of something else is invalid", func(t *testing.T) {
		w := newWorld(t, f)
		for _, cursor := range []string{"nonsense", "!", "dAAB", "cgABAA"} {
			_, err := w.store.Retirable(t.Context(), sessions.RetireQuery{Cursor: cursor})
			requireCode(t, sessions.CodeInvalidRequest, err)
		}
	})
	f.run(t, "a tree goes only when all of it is quiet", func(t *testing.T) { retireTrees(t, f) })
	f.run(t, "of a racing prompt and retention exactly one wins", func(t *testing.T) { raceRetirement(t, f) })
	f.run(t, "a damaged child keeps its tree", func(t *testing.T) {
		if f.Damage == nil {
			t.Skip("this store cannot be damaged behind its back")
		}
		w := newWorld(t, f)
		w.made("root", sessions.CreateSession{})
		child := w.made("child", sessions.CreateSession{ParentID: "root", ParentLocation: sessions.Local})
		w.turn(byID("child"), "question", "reply")
		f.Damage(t, w.store, child.Fence.Incarnation)
		_, err := w.store.Messages(t.Context(), child.Fence.Incarnation, sessions.MessageQuery{})
		requireCode(t, sessions.CodeSessionDamaged, err)
		requireCode(t, sessions.CodeConflict, w.retire("root", sessions.Retirement{Before: w.now + 1}))
		w.get(byID("child"))
	})
}

func retireByAge(t *testing.T, f Factory) {
	w := newWorld(t, f)
	for _, id := range []sessions.SessionID{"a", "b", "c", "d", "e"} {
		w.made(id, sessions.CreateSession{})
	}
	theirs := w.made("theirs", sessions.CreateSession{Owner: "other"})
	w.now += minute
	w.turn(byID("b"), "question", "reply")
	_, err := w.close(byID("a"), "") // counts from now on
	require.NoError(t, err)
	w.now += minute
	_, err = w.close(byID("d"), "")
	require.NoError(t, err)
	_, err = w.store.UpdateSession(t.Context(), sessions.UpdateSession{Owner: owner, At: byID("c"), Labels: map[string]string{}, Now: w.now})
	require.NoError(t, err)

	w.requireRetirable(sessions.RetireQuery{}, "c", "e", "theirs", "b", "a", "d")
	w.requireRetirable(sessions.RetireQuery{Before: theirs.LastActiveAt}, "c", "e")
	w.requireRetirable(sessions.RetireQuery{Before: theirs.LastActiveAt + 1}, "c", "e", "theirs")
	w.requireRetirable(sessions.RetireQuery{Before: w.now}, "c", "e", "theirs", "b", "a")
	w.requireRetirable(sessions.RetireQuery{Before: noon})
	roots := w.retirable(sessions.RetireQuery{Before: theirs.LastActiveAt + 1})
	require.Equal(t, sessions.Retiree{Before: theirs.LastActiveAt + 1,
		DeletedSession: sessions.DeletedSession{Owner: "other", ID: "theirs", Fence: theirs.Fence}}, roots[2])
}

func retireByCount(t *testing.T, f Factory) {
	w := newWorld(t, f)
	var at []sessions.Time
	for i := range 6 {
		at = append(at, w.made(sessions.SessionID(fmt.Sprint("s", i)), sessions.CreateSession{}).LastActiveAt)
	}
	w.made("child", sessions.CreateSession{ParentID: "s0", ParentLocation: sessions.Local})
	for i := range 3 {
		w.made(sessions.SessionID(fmt.Sprint("o", i)), sessions.CreateSession{Owner: "other"})
	}
	w.requireRetirable(sessions.RetireQuery{Beyond: 6})
	w.requireRetirable(sessions.RetireQuery{Beyond: 4}, "s0", "s1")
	w.requireRetirable(sessions.RetireQuery{Beyond: 2}, "s0", "s1", "s2", "s3", "o0")
	w.requireRetirable(sessions.RetireQuery{Beyond: 2, Before: at[2]}, "s0", "s1")
	for _, root := range w.retirable(sessions.RetireQuery{Beyond: 4}) {
		require.Equal(t, at[2], root.Before, "as long as the last of those that stay was quiet")
	}
	require.Equal(t, at[1], w.retirable(sessions.RetireQuery{Beyond: 4, Before: at[1]})[0].Before)

	w.now = at[3]
	w.create(sessions.CreateSession{At: byID("equal")})
	w.accept(w.prompt(byID("s5"), "question")) // a busy one is among those that stay
	w.requireRetirable(sessions.RetireQuery{Beyond: 1, Before: at[4]}, "s0", "s1", "s2", "s3")
	before := w.retirable(sessions.RetireQuery{Beyond: 3})
	for _, root := range before {
		require.Less(t, w.get(byID(root.ID)).LastActiveAt, root.Before, "one as recent as the last that stays, stays")
	}
}

func retireNot(t *testing.T, f Factory) {
	w := newWorld(t, f)
	w.made("root", sessions.CreateSession{})
	w.made("child", sessions.CreateSession{ParentID: "root", ParentLocation: sessions.Local})
	w.made("busy", sessions.CreateSession{})
	a := w.accept(w.prompt(byID("busy"), "question"))
	w.requireRetirable(sessions.RetireQuery{}, "root")
	w.commit(w.answer(a, "reply"))
	w.requireRetirable(sessions.RetireQuery{}, "root", "busy")
	w.remove(byID("root"))
	w.requireRetirable(sessions.RetireQuery{}, "busy")
	if f.Damage == nil {
		return
	}
	f.Damage(t, w.store, a.Session.Fence.Incarnation)
	_, err := w.store.Messages(t.Context(), a.Session.Fence.Incarnation, sessions.MessageQuery{})
	requireCode(t, sessions.CodeSessionDamaged, err)
	w.requireRetirable(sessions.RetireQuery{})
}

// retire deletes a tree on retention's condition.
func (w *world) retire(id sessions.SessionID, r sessions.Retirement) error {
	_, err := w.store.DeleteSession(w.t.Context(), sessions.DeleteSession{Owner: owner, At: byID(id), Retire: &r,
		TombstoneMs: day, Now: w.now}, nil)
	return err
}

func retireTrees(t *testing.T, f Factory) {
	w := newWorld(t, f)
	w.made("root", sessions.CreateSession{})
	w.made("child", sessions.CreateSession{ParentID: "root", ParentLocation: sessions.Local})
	w.made("grandchild", sessions.CreateSession{ParentID: "child", ParentLocation: sessions.Local})
	elsewhere := w.made("elsewhere", sessions.CreateSession{ParentID: "child", ParentLocation: sessions.Remote})
	w.accept(w.prompt(byID("elsewhere"), "question"))
	young := w.now
	ids := []sessions.SessionID{"root", "child", "grandchild", "elsewhere"}
	refused := func(r sessions.Retirement) {
		t.Helper()
		var before []picture
		for _, id := range ids {
			before = append(before, w.picture(byID(id)))
		}
		requireCode(t, sessions.CodeConflict, w.retire("root", r))
		for i, id := range ids {
			require.Equal(t, before[i], w.picture(byID(id)))
		}
	}
	w.now += minute
	a := w.accept(w.prompt(byID("grandchild"), "question"))
	refused(sessions.Retirement{Before: w.now + day})
	w.commit(w.answer(a, "reply"))
	refused(sessions.Retirement{Before: young})
	refused(sessions.Retirement{Before: w.now})
	refused(sessions.Retirement{Before: w.now + 1, Blank: true})
	_, err := w.close(byID("child"), "")
	require.NoError(t, err)
	refused(sessions.Retirement{Before: w.now})

	require.NoError(t, w.retire("root", sessions.Retirement{Before: w.now + 1}))
	page, err := w.store.Sessions(t.Context(), sessions.SessionQuery{Owner: owner})
	require.NoError(t, err)
	require.Equal(t, []sessions.SessionID{elsewhere.ID}, idsOf(page.Sessions), "what is elsewhere is another tree")
	require.NoError(t, w.retire("root", sessions.Retirement{Before: w.now + 1}), "nothing to end")
}

// raceRetirement prompts a session while retention ends it.
func raceRetirement(t *testing.T, f Factory) {
	w := newWorld(t, f)
	w.raced(func(int) (func(), func(), func(order)) {
		s := w.session()
		w.now += minute
		c := w.prompt(addressOf(s), "question")
		var promptErr, retireErr error
		prompt := func() { _, promptErr = w.store.AcceptTurn(t.Context(), c) }
		return prompt, func() { retireErr = w.retire(s.ID, sessions.Retirement{Before: w.now}) }, func(o order) {
			if promptErr == nil {
				require.NotEqual(t, deleteFirst, o)
				requireCode(t, sessions.CodeConflict, retireErr)
				require.Equal(t, sessions.StatusRunning, w.get(addressOf(s)).Status)
				return
			}
			require.NotEqual(t, otherFirst, o)
			require.NoError(t, retireErr)
			requireCode(t, sessions.CodeSessionNotFound, promptErr)
		}
	})
}
