package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testTree(t *testing.T, f Factory) {
	f.run(t, "all below goes, by parent and by ref", func(t *testing.T) { treeGoes(t, f) })
	f.run(t, "a cycle has an end", func(t *testing.T) {
		w := newWorld(t, f)
		a, b, c := w.root("a"), w.child("a", "b"), w.child("b", "c")
		w.refer(c, a.ID, sessions.Local)
		w.refer(c, c.ID, sessions.Local)
		w.refer(b, b.ID, sessions.Local)
		require.ElementsMatch(t, []sessions.SessionID{"a", "b", "c"}, w.cascade(addressOf(b)), "a is below b by a ref")
	})
	f.run(t, "remote ones are kept, also by a repeat", func(t *testing.T) { treeKeepsRemote(t, f) })
	f.run(t, "detached children live on as roots", func(t *testing.T) { treeDetached(t, f) })
	f.run(t, "a child goes alone, and its parent's record of it", func(t *testing.T) {
		w := newWorld(t, f)
		parent := w.root("parent")
		w.child("parent", "a")
		w.child("a", "below")
		w.child("parent", "b")
		require.ElementsMatch(t, []sessions.SessionID{"a", "below"}, w.cascade(byID("a")))
		refs := w.refs(parent.Fence.Incarnation)
		require.Len(t, refs, 1)
		require.EqualValues(t, "b", refs[0].SessionID)
	})
	f.run(t, "owners do not meet", func(t *testing.T) {
		w := newWorld(t, f)
		w.root("a")
		w.child("a", "b")
		var theirs sessions.Session
		for _, id := range []sessions.SessionID{"c", "a", "b"} {
			c := sessions.CreateSession{Owner: "other", At: byID(id)}
			if id == "b" {
				c.ParentID, c.ParentLocation = "a", sessions.Local
			}
			theirs = w.create(c)
		}
		w.refer(theirs, "a", sessions.Local)
		w.refer(theirs, "b", sessions.Remote)
		require.ElementsMatch(t, []sessions.SessionID{"a", "b"}, w.cascade(byID("a")))
		page, err := w.store.Sessions(t.Context(), sessions.SessionQuery{Owner: "other"})
		require.NoError(t, err)
		require.Len(t, page.Sessions, 3)
		require.Len(t, w.refs(theirs.Fence.Incarnation), 2)
	})
	f.run(t, "a remote ref shields no longer than its holder lives", func(t *testing.T) {
		w := newWorld(t, f)
		w.root("root")
		w.child("root", "child")
		holder := w.root("holder")
		w.refer(holder, "child", sessions.Remote)
		var gone []sessions.DeletedSession
		var inner error
		_, err := w.store.DeleteSession(t.Context(), sessions.DeleteSession{Owner: owner, At: addressOf(holder), TombstoneMs: day, Now: w.now},
			func([]sessions.DeletedSession) { // its rows are there yet
				_, gone, inner = w.tryDelete(sessions.DeleteSession{At: byID("root")})
			})
		require.NoError(t, err)
		require.NoError(t, inner)
		require.Len(t, gone, 2)
	})
	f.run(t, "nothing below a session outlives it in any way", func(t *testing.T) { treeIsOver(t, f) })
	f.run(t, "a busy one anywhere refuses, and not a byte changes", func(t *testing.T) { treeRefuses(t, f) })
	f.run(t, "a damaged one goes like any other", func(t *testing.T) {
		if f.Damage == nil {
			t.Skip("this store cannot be damaged behind its back")
		}
		w := newWorld(t, f)
		w.root("a")
		child := w.child("a", "b")
		w.turn(byID("b"), "question", "reply")
		f.Damage(t, w.store, child.Fence.Incarnation)
		_, err := w.store.Messages(t.Context(), child.Fence.Incarnation, sessions.MessageQuery{})
		requireCode(t, sessions.CodeSessionDamaged, err)
		require.Len(t, w.cascade(byID("a")), 2)
		w.requireGone("a", "b")
	})
	f.run(t, "a fork is no child, and forgets where it came from", func(t *testing.T) {
		w := newWorld(t, f)
		w.root("a")
		w.child("a", "b")
		w.turn(byID("b"), "question", "reply")
		fork, err := w.store.ForkSession(t.Context(), sessions.ForkSession{Owner: owner, At: byID("b"), NewID: "fork", Now: w.now})
		optional(t, err)
		require.EqualValues(t, "b", fork.Session.ForkedFrom)
		require.ElementsMatch(t, []sessions.SessionID{"a", "b"}, w.cascade(byID("a")))
		left := w.get(byID("fork"))
		require.Empty(t, left.ForkedFrom)
		require.Len(t, w.history(left.Fence.Incarnation), 2)
	})
}

func treeGoes(t *testing.T, f Factory) {
	w := newWorld(t, f)
	root := w.create(sessions.CreateSession{At: sessions.Address{ID: "root", Key: sessions.Key{Target: "doc", Profile: "writer"}}})
	made := w.child("root", "made")
	w.child("made", "made-below")
	known := w.root("known")
	w.refer(root, "known", sessions.Local)
	w.child("known", "known-below")
	deep := w.root("deep")
	w.refer(known, "deep", sessions.Local)
	w.refer(made, "deep", sessions.Local)
	w.refer(deep, "nobody", sessions.Local)
	outside := w.root("outside")
	w.refer(outside, "made-below", sessions.Local)
	w.refer(outside, "far", sessions.Remote)
	w.turn(byID("outside"), "question", "reply")

	ids := w.cascade(byKey("doc", "writer"))
	require.ElementsMatch(t, []sessions.SessionID{"root", "made", "made-below", "known", "known-below", "deep"}, ids)
	require.EqualValues(t, "root", ids[0], "the session itself comes first")
	w.requireGone(ids...)
	left := w.refs(outside.Fence.Incarnation)
	require.Len(t, left, 1, "whoever had a record of one has it no more")
	require.EqualValues(t, "far", left[0].SessionID)
	require.Len(t, w.history(outside.Fence.Incarnation), 2)
	require.Empty(t, w.cascade(byID("root")))
	require.Empty(t, w.cascade(byKey("doc", "writer")))
}

func treeKeepsRemote(t *testing.T, f Factory) {
	w := newWorld(t, f)
	root := w.root("root")
	child := w.child("root", "child")
	w.childAt("root", "far", sessions.Remote) // made as remote
	w.child("root", "named-far")              // made as local, and one who ends has a remote ref to it
	w.child("far", "far-below")               // of no concern to the root
	w.child("child", "shielded")              // made as local, and one who lives on has a remote ref to it
	w.refer(child, "named-far", sessions.Remote)
	outside := w.root("outside")
	w.refer(outside, "shielded", sessions.Remote)
	w.refer(root, "shielded", sessions.Local)

	require.ElementsMatch(t, []sessions.SessionID{"root", "child"}, w.cascade(byID("root")))
	kept := []sessions.SessionID{"far", "named-far", "far-below", "shielded"}
	for range 2 {
		for _, id := range []sessions.SessionID{"root", "child"} {
			require.Empty(t, w.cascade(byID(id)))
		}
		for _, id := range kept {
			w.get(byID(id))
		}
	}
	require.ElementsMatch(t, []sessions.SessionID{"far", "far-below"}, w.cascade(byID("far")), "by itself it goes")
}

func treeDetached(t *testing.T, f Factory) {
	w := newWorld(t, f)
	root := w.root("root")
	w.child("root", "child")
	w.child("child", "below")
	w.childAt("root", "far", sessions.Remote)
	w.root("known")
	w.refer(root, "known", sessions.Local)
	running := w.accept(w.prompt(byID("child"), "question"))

	receipt, gone := w.delete(sessions.DeleteSession{At: byID("root"), Children: sessions.Detach, RejectIfBusy: true})
	require.NotNil(t, receipt, "a child that is busy does not matter: it is not removed")
	require.EqualValues(t, 1, receipt.Sessions)
	require.Equal(t, []sessions.DeletedSession{{Owner: owner, ID: "root", Fence: root.Fence}}, gone)
	child := w.get(byID("child"))
	require.Empty(t, child.ParentID)
	require.Empty(t, child.ParentLocation)
	require.EqualValues(t, "child", w.get(byID("below")).ParentID)
	require.Equal(t, sessions.Remote, w.get(byID("far")).ParentLocation)
	w.get(byID("known"))
	w.commit(w.answer(running, "reply"))

	w.root("root")
	require.Equal(t, []sessions.SessionID{"root"}, w.cascade(byID("root")), "of another life they are no children")
	require.ElementsMatch(t, []sessions.SessionID{"child", "below"}, w.cascade(byID("child")))
}

func treeIsOver(t *testing.T, f Factory) {
	w := newWorld(t, f)
	w.root("root")
	w.child("root", "child")
	w.child("child", "below")
	request := w.prompt(byID("below"), "question")
	running := w.accept(request)
	life := running.Session.Fence.Incarnation

	var hidden int
	_, err := w.store.DeleteSession(t.Context(), sessions.DeleteSession{Owner: owner, At: byID("root"), TombstoneMs: 30 * day, Now: w.now},
		func(gone []sessions.DeletedSession) {
			hidden++
			require.Len(t, gone, 3)
			w.requireGone("root", "child", "below")
			for _, s := range gone {
				over, err := w.store.Over(t.Context(), s.Fence.Incarnation)
				require.NoError(t, err)
				require.True(t, over)
			}
			_, err := w.store.CommitTurn(t.Context(), w.answer(running, "late"))
			require.ErrorIs(t, err, sessions.ErrFenced)
		})
	require.NoError(t, err)
	require.Equal(t, 1, hidden)
	_, err = w.store.AcceptTurn(t.Context(), w.again(request))
	requireCode(t, sessions.CodeSessionDeleted, err)
	claim, found, err := w.store.Claim(t.Context(), owner, request.Request.ID, w.now)
	require.NoError(t, err)
	require.True(t, found && claim.Tombstone)
	require.Equal(t, life, claim.Life)
	_, err = w.createChild("child", sessions.ChildCall{})
	requireCode(t, sessions.CodeSessionNotFound, err)

	fresh := w.root("below")
	require.Greater(t, fresh.Fence.Incarnation, life)
	require.Empty(t, fresh.ParentID)
	_, err = w.store.CommitTurn(t.Context(), w.answer(running, "late"))
	require.ErrorIs(t, err, sessions.ErrFenced)
	require.Empty(t, w.history(fresh.Fence.Incarnation))
}

func treeRefuses(t *testing.T, f Factory) {
	w := newWorld(t, f)
	w.root("root")
	w.child("root", "child")
	w.child("child", "below")
	w.child("child", "quiet")
	w.turn(byID("quiet"), "question", "reply")
	a := w.accept(w.prompt(byID("below"), "question"))
	before := w.rows()
	for _, id := range []sessions.SessionID{"root", "child", "below"} {
		_, err := w.store.DeleteSession(t.Context(), sessions.DeleteSession{Owner: owner, At: byID(id), RejectIfBusy: true,
			Announce: true, TombstoneMs: day, Now: w.now}, func([]sessions.DeletedSession) { t.Error("hidden was called") })
		require.ErrorIs(t, err, sessions.ErrTreeBusy)
		require.Equal(t, before, w.rows())
	}
	w.commit(w.answer(a, "reply"))
	receipt, _ := w.delete(sessions.DeleteSession{At: byID("root"), RejectIfBusy: true})
	require.EqualValues(t, 4, receipt.Sessions)
}
