package storetest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func treeCounted(t *testing.T, f Factory) {
	w := newWorld(t, f)
	w.turn(byKey("first", "writer"), "question", "reply")
	before := w.census()
	root := w.root("root")
	w.child("root", "child")
	w.child("child", "below")
	w.refer(root, "far", sessions.Remote)
	w.turn(byID("below"), "question", "reply")
	w.accept(w.prompt(byID("child"), "question"))
	require.NotEqual(t, before, w.census())
	require.Len(t, w.cascade(byID("root")), 3)
	require.Equal(t, before, w.census())
}

func usageGoes(t *testing.T, f Factory) {
	if f.InsertUsage == nil || f.CountUsage == nil {
		t.Skip("this store does not show usage")
	}
	w := newWorld(t, f)
	parent := w.root("parent")
	child := w.child("parent", "child")
	w.turn(byID("child"), "question", "reply")
	kept := w.root("kept")
	for _, s := range []sessions.Session{parent, child, kept} {
		before := f.CountUsage(t, w.store, s.Fence.Incarnation)
		f.InsertUsage(t, w.store, s.Fence.Incarnation)
		require.Equal(t, before+1, f.CountUsage(t, w.store, s.Fence.Incarnation))
	}
	w.cascade(byID("parent"))
	require.Zero(t, f.CountUsage(t, w.store, parent.Fence.Incarnation))
	require.Zero(t, f.CountUsage(t, w.store, child.Fence.Incarnation))
	require.Equal(t, 1, f.CountUsage(t, w.store, kept.Fence.Incarnation))
}

// tablesCovered requires that the suite has something in every table there is, so
// that one which is added later fails until its rows are made, and so looked for,
// here.
func tablesCovered(t *testing.T, f Factory) {
	w := newWorld(t, f)
	w.turn(byKey("first", "writer"), "question", "reply")
	all := slices.Sorted(maps.Keys(f.Rows(t, w.store)))
	written := map[string]bool{}
	look := func() {
		for table, rows := range f.Rows(t, w.store) {
			if len(rows) > 0 {
				written[table] = true
			}
		}
	}
	s := w.busyLife("marked")
	w.refer(s, "far", sessions.Remote)
	w.key(owner, "secret")
	saved := w.save(w.markedAgent("marked"))
	look()
	require.NoError(t, w.deleteAgent(saved.Owner, saved.ID))
	receipt, _ := w.delete(sessions.DeleteSession{At: addressOf(s), Announce: true})
	look()
	for _, table := range all {
		require.NotEqual(t, slices.Contains(f.Unused, table), written[table],
			"table %s: have busyLife write to it, or name it in Factory.Unused", table)
	}
	for table, rows := range f.Rows(t, w.store) {
		for _, row := range rows {
			left := strings.HasPrefix(table, "unheard") || strings.Contains(table, "tombstone")
			require.True(t, left || !strings.Contains(row, lifeMark(s)), "table %s: %s", table, row)
		}
	}
	require.Positive(t, receipt.Rows["sub_session_refs"])
}

func treeLeavesNothing(t *testing.T, f Factory) {
	w := newWorld(t, f)
	outside := w.root("outside")
	w.turn(byID("outside"), "question", "reply")
	before := w.census()
	all := w.family("marked")
	require.Greater(t, len(all), 50)
	w.refer(outside, all[7].ID, sessions.Local)
	for _, s := range all {
		require.NotEmpty(t, w.rowsWith(lifeMark(s)))
	}
	ids := w.cascade(byID("marked"))
	require.Len(t, ids, len(all))
	require.Empty(t, w.rowsWith("marked"), "every id begins with it, and every text is it")
	for _, s := range all {
		require.Empty(t, w.rowsWith(lifeMark(s)))
	}
	require.Equal(t, before, w.census())
}

func deleteBoth(t *testing.T, f Factory, order []sessions.SessionID) {
	w := newWorld(t, f)
	w.turn(byKey("first", "writer"), "question", "reply")
	before := w.census()
	w.root("parent")
	w.child("parent", "child")
	w.turn(byID("parent"), "question", "reply")
	w.accept(w.prompt(byID("child"), "question"))
	var gone []int // sessions, by each delete
	for _, id := range order {
		gone = append(gone, len(w.cascade(byID(id))))
	}
	want := []int{1, 1}
	if order[0] == "parent" {
		want = []int{2, 0}
	}
	require.Equal(t, want, gone)
	w.requireGone(order...)
	require.Equal(t, before, w.census())
}
