package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testUsage(t *testing.T, f Factory) {
	f.run(t, "steps add up by day and model, for session and owner", func(t *testing.T) { usageOfSteps(t, f) })
	f.run(t, "kinds are kept apart", func(t *testing.T) { usageOfKinds(t, f) })
	f.run(t, "a tree is what a delete would take along", func(t *testing.T) { usageOfTree(t, f) })
	f.run(t, "the owner's outlives deletes and clears", func(t *testing.T) { usageStays(t, f) })
	f.run(t, "nothing is added to a life that is over, or that does not count", func(t *testing.T) { usageRefused(t, f) })
	f.run(t, "nothing yet is no error", func(t *testing.T) {
		w := newWorld(t, f)
		s := w.session()
		for _, by := range []sessions.UsageScope{sessions.UsageBySession, sessions.UsageByTree, sessions.UsageByOwner} {
			require.Empty(t, w.usage(sessions.UsageQuery{By: by, Owner: owner, Life: s.Fence.Incarnation}))
		}
	})
}

// usage returns sums in one order.
func (w *world) usage(q sessions.UsageQuery) []sessions.DayUsage {
	w.t.Helper()
	sums, err := w.store.Usage(w.t.Context(), q)
	require.NoError(w.t, err)
	return sessions.UsageDays(sums, 0)
}

func (w *world) usageOf(by sessions.UsageScope, s sessions.Session) sessions.UsageReport {
	w.t.Helper()
	sums, err := w.store.Usage(w.t.Context(), sessions.UsageQuery{By: by, Owner: s.Owner, Life: s.Fence.Incarnation})
	require.NoError(w.t, err)
	return sessions.ReportUsage(sums)
}

// use adds usage of a kind that is nobody's turn.
func (w *world) use(s sessions.Session, kind sessions.UsageKind, u sessions.Usage) {
	w.t.Helper()
	require.NoError(w.t, w.store.AddUsage(w.t.Context(), sessions.AddUsage{
		Life: s.Fence.Incarnation, Kind: kind, Model: "m", Usage: u, Now: w.now}))
}

// ofAnswer is what world.answer says it consumed.
var ofAnswer = sessions.Usage{InputTokens: 10, OutputTokens: 3, CachedTokens: 2, Calls: 1}

func times(n int64, u sessions.Usage) (sum sessions.Usage) {
	for range n {
		sum = sum.Plus(u)
	}
	return sum
}

func usageOfSteps(t *testing.T, f Factory) {
	w := newWorld(t, f)
	one, two := w.session(), w.session()
	w.turn(addressOf(one), "question", "reply")
	w.turn(addressOf(one), "question", "reply")
	a := w.accept(w.prompt(addressOf(two), "question"))
	c := w.answer(a, "reply")
	c.Model = "another"
	w.commit(c)
	w.now += day
	w.turn(addressOf(one), "question", "reply")
	w.end(w.accept(w.prompt(addressOf(two), "question")), sessions.TurnIsCancelled, nil)

	first, second := "2025-06-15", "2025-06-16"
	ofOne := []sessions.DayUsage{{Day: second, Model: "model-a", Usage: ofAnswer}, {Day: first, Model: "model-a", Usage: times(2, ofAnswer)}}
	require.Equal(t, ofOne, w.usage(sessions.UsageQuery{By: sessions.UsageBySession, Life: one.Fence.Incarnation}))
	all := []sessions.DayUsage{ofOne[0], {Day: first, Model: "another", Usage: ofAnswer}, ofOne[1]}
	require.Equal(t, all, w.usage(sessions.UsageQuery{By: sessions.UsageByOwner, Owner: owner}))
	require.Equal(t, ofOne[:1], w.usage(sessions.UsageQuery{By: sessions.UsageByOwner, Owner: owner, Since: w.now}))
	require.Empty(t, w.usage(sessions.UsageQuery{By: sessions.UsageByOwner, Owner: owner, Since: w.now + day}))
	require.Empty(t, w.usage(sessions.UsageQuery{By: sessions.UsageByOwner, Owner: "other"}))
	require.Equal(t, w.get(addressOf(one)).Usage, w.usageOf(sessions.UsageBySession, one).Usage, "the same as the session says")
}

func usageOfKinds(t *testing.T, f Factory) {
	w := newWorld(t, f)
	s := w.session()
	w.turn(addressOf(s), "question", "reply")
	search, aside := sessions.Usage{Calls: 1}, sessions.Usage{InputTokens: 5, OutputTokens: 1, Calls: 1}
	w.use(s, "search", search)
	w.use(s, "search", search)
	w.use(s, "embed", sessions.Usage{InputTokens: 7})
	w.use(s, sessions.UsageOfSideQuestions, aside)
	w.use(s, "nothing", sessions.Usage{})
	want := sessions.UsageReport{Usage: ofAnswer, SideQuestions: aside,
		Kinds: map[sessions.UsageKind]sessions.Usage{"search": {Calls: 2}, "embed": {InputTokens: 7}}}
	for _, by := range []sessions.UsageScope{sessions.UsageBySession, sessions.UsageByTree, sessions.UsageByOwner} {
		require.Equal(t, want, w.usageOf(by, s), by)
	}
	require.Equal(t, ofAnswer, w.get(addressOf(s)).Usage, "the session's own is that of its turns")
}

func usageOfTree(t *testing.T, f Factory) {
	w := newWorld(t, f)
	root := w.root("root")
	child := w.child("root", "child")
	w.child("child", "below")
	w.root("known")
	w.refer(root, "known", sessions.Local)
	w.refer(child, "root", sessions.Local) // a cycle
	w.childAt("root", "far", sessions.Remote)
	w.root("outside")
	for _, id := range []sessions.SessionID{"root", "child", "below", "known", "far", "outside"} {
		w.turn(byID(id), "question", "reply")
	}
	w.use(w.get(byID("below")), "search", ofAnswer)

	tree := w.usageOf(sessions.UsageByTree, root)
	require.Equal(t, times(4, ofAnswer), tree.Usage)
	require.Equal(t, ofAnswer, tree.Kinds["search"])
	require.Equal(t, ofAnswer, w.usageOf(sessions.UsageBySession, root).Usage)
	require.Equal(t, times(6, ofAnswer), w.usageOf(sessions.UsageByOwner, root).Usage)

	w.cascade(byID("below"))
	require.Equal(t, sessions.UsageReport{Usage: times(3, ofAnswer)}, w.usageOf(sessions.UsageByTree, root))
	w.cascade(byID("root"))
	require.Equal(t, ofAnswer, w.usageOf(sessions.UsageByTree, w.get(byID("far"))).Usage)
}

func usageStays(t *testing.T, f Factory) {
	w := newWorld(t, f)
	s := w.session()
	w.turn(addressOf(s), "question", "reply")
	w.use(s, "search", sessions.Usage{Calls: 1})
	w.turn(byKey("doc", "writer"), "question", "reply")
	want := w.usageOf(sessions.UsageByOwner, s)
	require.EqualValues(t, 2, want.Calls)

	w.remove(addressOf(s))
	require.Equal(t, want, w.usageOf(sessions.UsageByOwner, s))
	again := w.create(sessions.CreateSession{At: addressOf(s), Profile: sessions.DefaultProfile})
	require.Zero(t, w.usageOf(sessions.UsageByTree, again), "another life has consumed nothing")
	_, err := w.store.ClearOwner(t.Context(), sessions.ClearOwner{Owner: owner, TombstoneMs: day, Now: w.now}, nil)
	require.NoError(t, err)
	require.Equal(t, want, w.usageOf(sessions.UsageByOwner, s))
	if f.Reopen != nil {
		w.reopen()
		require.Equal(t, want, w.usageOf(sessions.UsageByOwner, s))
	}
}

func usageRefused(t *testing.T, f Factory) {
	w := newWorld(t, f)
	s := w.session()
	add := func(kind sessions.UsageKind, u sessions.Usage) error {
		return w.store.AddUsage(t.Context(), sessions.AddUsage{Life: s.Fence.Incarnation, Kind: kind, Usage: u, Now: w.now})
	}
	requireCode(t, sessions.CodeInvalidRequest, add(sessions.UsageOfTurns, ofAnswer))
	requireCode(t, sessions.CodeInvalidRequest, add("two words", ofAnswer))
	requireCode(t, sessions.CodeInvalidRequest, add("search", sessions.Usage{Calls: -1}))
	w.remove(addressOf(s))
	require.ErrorIs(t, add("search", ofAnswer), sessions.ErrFenced)
	require.Zero(t, w.usageOf(sessions.UsageByOwner, s))
	for _, by := range []sessions.UsageScope{sessions.UsageBySession, sessions.UsageByTree} {
		_, err := w.store.Usage(t.Context(), sessions.UsageQuery{By: by, Life: s.Fence.Incarnation})
		require.ErrorIs(t, err, sessions.ErrLifeOver)
	}
}
