package storetest

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testRefs(t *testing.T, f Factory) {
	f.run(t, "a child's ref shows what its session does", func(t *testing.T) { refFollowsChild(t, f) })
	f.run(t, "a ref that is there is returned unchanged", func(t *testing.T) { refsReadded(t, f) })
	f.run(t, "the same holds among the refs of one call", func(t *testing.T) {
		w := newWorld(t, f)
		s := w.session()
		first, again, other := w.ref("a", sessions.Remote), w.ref("a", sessions.Local), w.ref("b", sessions.Remote)
		first.TurnID, first.CallID = "t", "c"
		other.TurnID, other.CallID = "t", "c"
		got, err := w.store.AddRefs(t.Context(), s.Fence.Incarnation, []sessions.Ref{first, again, other})
		require.NoError(t, err)
		require.Equal(t, []sessions.Ref{first, first, first}, got)
		require.Equal(t, []sessions.Ref{first}, w.refs(s.Fence.Incarnation))
	})
	f.run(t, "the same holds for calls at once", func(t *testing.T) { refsAtOnce(t, f) })
	f.run(t, "one without a location stores nothing", func(t *testing.T) {
		w := newWorld(t, f)
		s := w.session()
		before := w.rows()
		for _, where := range []sessions.Location{"", "elsewhere"} {
			_, err := w.store.AddRefs(t.Context(), s.Fence.Incarnation, []sessions.Ref{w.ref("a", sessions.Local), w.ref("b", where)})
			requireCode(t, sessions.CodeInvalidRequest, err)
		}
		require.Empty(t, w.refs(s.Fence.Incarnation))
		require.Equal(t, before, w.rows())
	})
	f.run(t, "a stored one without a location is an error", func(t *testing.T) { refStripped(t, f) })
	f.run(t, "a remote one is settled and forgotten", func(t *testing.T) { refSettled(t, f) })
	f.run(t, "a local one that names no session is gone", func(t *testing.T) {
		w := newWorld(t, f)
		s := w.session()
		w.refer(s, "nobody", sessions.Local)
		require.Equal(t, sessions.RefGone, w.refs(s.Fence.Incarnation)[0].Status)
		w.root("nobody")
		require.Equal(t, sessions.RefStatus(sessions.StatusCreated), w.refs(s.Fence.Incarnation)[0].Status)
	})
	f.run(t, "oldest first, each parent's own, also after a reopening", func(t *testing.T) {
		w := newWorld(t, f)
		a, b := w.session(), w.session()
		for _, id := range []sessions.SessionID{"z", "a", "m"} {
			w.refer(a, id, sessions.Remote)
		}
		w.refer(b, "z", sessions.Local)
		if f.Reopen != nil {
			w.reopen()
		}
		require.Equal(t, []sessions.Ref{w.ref("z", sessions.Remote), w.ref("a", sessions.Remote), w.ref("m", sessions.Remote)}, w.refs(a.Fence.Incarnation))
		require.Len(t, w.refs(b.Fence.Incarnation), 1)
	})
	f.run(t, "a life that is over has none", func(t *testing.T) {
		w := newWorld(t, f)
		s := w.root("a")
		life := s.Fence.Incarnation
		w.refer(s, "b", sessions.Remote)
		w.remove(addressOf(s))
		fresh := w.root("a")
		require.Empty(t, w.refs(fresh.Fence.Incarnation))
		_, err := w.store.AddRefs(t.Context(), life, []sessions.Ref{w.ref("c", sessions.Remote)})
		require.ErrorIs(t, err, sessions.ErrFenced)
		require.ErrorIs(t, w.store.SettleRef(t.Context(), sessions.SettleRef{Parent: life, Child: "b", Status: sessions.RefLost, Now: w.now}), sessions.ErrFenced)
		require.ErrorIs(t, w.store.RemoveRef(t.Context(), life, "b"), sessions.ErrFenced)
		_, err = w.store.Refs(t.Context(), life)
		requireCode(t, sessions.CodeSessionNotFound, err)
	})
}

func refFollowsChild(t *testing.T, f Factory) {
	w := newWorld(t, f)
	parent := w.root("parent")
	w.now += minute
	child := w.create(sessions.CreateSession{Profile: "helper", ParentID: parent.ID, ParentLocation: sessions.Local,
		Call: sessions.ChildCall{TurnID: "t", CallID: "c", Name: "anna"}})
	want := sessions.Ref{SessionID: child.ID, Location: sessions.Local, ProfileKey: "helper", Name: "anna", TurnID: "t", CallID: "c",
		Status: "created", CreatedAt: w.now}
	requireRef := func(status sessions.RefStatus, ended sessions.Time) {
		t.Helper()
		want.Status, want.EndedAt = status, ended
		require.Equal(t, []sessions.Ref{want}, w.refs(parent.Fence.Incarnation))
	}
	requireRef("created", 0)
	a := w.accept(w.prompt(addressOf(child), "question"))
	requireRef("running", 0)
	w.commit(w.answer(a, "reply"))
	requireRef("idle", 0)
	_, err := w.close(addressOf(child), "")
	require.NoError(t, err)
	requireRef("closed", w.now)
	w.remove(addressOf(child))
	require.Empty(t, w.refs(parent.Fence.Incarnation), "a deleted child leaves no record")
}

func refsReadded(t *testing.T, f Factory) {
	w := newWorld(t, f)
	s := w.session()
	first := w.ref("a", sessions.Remote)
	first.TurnID, first.CallID, first.Name = "t", "c", "anna"
	add := func(r sessions.Ref) sessions.Ref {
		t.Helper()
		got, err := w.store.AddRefs(t.Context(), s.Fence.Incarnation, []sessions.Ref{r})
		require.NoError(t, err)
		require.Len(t, got, 1)
		return got[0]
	}
	require.Equal(t, first, add(first))
	w.now += minute
	for name, change := range map[string]func(*sessions.Ref){
		"the same session": func(r *sessions.Ref) { r.SessionID = "a" },
		"the same call":    func(r *sessions.Ref) { r.TurnID, r.CallID = "t", "c" },
		"the same companion": func(r *sessions.Ref) {
			r.Host, r.ProfileKey, r.Name = "elsewhere", sessions.DefaultProfile, "anna"
		},
	} {
		again := sessions.Ref{SessionID: "other", Location: sessions.Local, ProfileKey: "p", Status: sessions.RefLost, CreatedAt: w.now}
		change(&again)
		require.Equal(t, first, add(again), name)
	}
	require.Equal(t, []sessions.Ref{first}, w.refs(s.Fence.Incarnation))

	for i, change := range []func(*sessions.Ref){
		func(r *sessions.Ref) { r.TurnID, r.CallID = "t2", "c" },
		func(r *sessions.Ref) { r.TurnID, r.CallID = "t", "c2" },
		func(r *sessions.Ref) { r.Host, r.Name = "another host", "anna" },
		func(r *sessions.Ref) { r.ProfileKey, r.Name = "another", "anna" },
		func(r *sessions.Ref) { r.Name = "berta" },
	} {
		other := w.ref(sessions.SessionID(w.name("another")), sessions.Remote)
		change(&other)
		require.Equal(t, other, add(other), "another %d", i)
	}
}

func refsAtOnce(t *testing.T, f Factory) {
	w := newWorld(t, f)
	s := w.session()
	const callers = 30
	answers, errs := make([][]sessions.Ref, callers), make([]error, callers)
	var group sync.WaitGroup
	for i := range callers {
		ref := w.ref(sessions.SessionID(w.name("child")), sessions.Remote)
		ref.TurnID, ref.CallID = "t", "c"
		group.Go(func() { answers[i], errs[i] = w.store.AddRefs(t.Context(), s.Fence.Incarnation, []sessions.Ref{ref}) })
	}
	group.Wait()
	stored := w.refs(s.Fence.Incarnation)
	require.Len(t, stored, 1)
	for i, got := range answers {
		require.NoError(t, errs[i])
		require.Equal(t, stored, got)
	}
}

func refStripped(t *testing.T, f Factory) {
	if f.StripLocation == nil {
		t.Skip("a ref of this store cannot lose its location")
	}
	w := newWorld(t, f)
	parent, child := w.root("parent"), w.root("child")
	w.refer(parent, child.ID, sessions.Local)
	f.StripLocation(t, w.store, parent.Fence.Incarnation, child.ID)

	_, err := w.store.Refs(t.Context(), parent.Fence.Incarnation)
	requireCode(t, sessions.CodeSessionDamaged, err)
	before := w.rows()
	_, err = w.store.AddRefs(t.Context(), parent.Fence.Incarnation, []sessions.Ref{w.ref("new", sessions.Local), w.ref(child.ID, sessions.Local)})
	requireCode(t, sessions.CodeSessionDamaged, err)
	_, err = w.store.CreateSession(t.Context(), sessions.CreateSession{Owner: owner, NewID: "new", ParentID: parent.ID,
		ParentLocation: sessions.Local, Call: sessions.ChildCall{TurnID: "t", CallID: "c"}, Now: w.now})
	requireCode(t, sessions.CodeSessionDamaged, err)
	require.Equal(t, before, w.rows())

	require.Equal(t, []sessions.SessionID{parent.ID}, w.cascade(addressOf(parent)), "what is not known to be local is not deleted")
	w.get(addressOf(child))
}

func refSettled(t *testing.T, f Factory) {
	w := newWorld(t, f)
	s := w.session()
	life := s.Fence.Incarnation
	w.refer(s, "far", sessions.Remote)
	w.refer(s, "near", sessions.Local)
	settle := func(child sessions.SessionID, status sessions.RefStatus) error {
		w.now += minute
		return w.store.SettleRef(t.Context(), sessions.SettleRef{Parent: life, Child: child, Status: status, Now: w.now})
	}
	for _, status := range []sessions.RefStatus{sessions.RefIdle, sessions.RefLost, sessions.RefRunning, sessions.RefFailed} {
		require.NoError(t, settle("far", status))
		got := w.refs(life)[0]
		require.Equal(t, status, got.Status)
		if status.Ended() {
			require.Equal(t, w.now, got.EndedAt)
		} else {
			require.Zero(t, got.EndedAt)
		}
	}
	require.NoError(t, settle("far", sessions.RefClosed))
	closed := w.refs(life)[0]
	require.NoError(t, settle("far", sessions.RefIdle), "what is heard late")
	require.Equal(t, closed, w.refs(life)[0])
	requireCode(t, sessions.CodeNotFound, settle("near", sessions.RefIdle))
	requireCode(t, sessions.CodeNotFound, settle("nobody", sessions.RefIdle))
	for _, id := range []sessions.SessionID{"near", "far", "far", "nobody"} {
		require.NoError(t, w.store.RemoveRef(t.Context(), life, id))
	}
	left := w.refs(life)
	require.Len(t, left, 1)
	require.EqualValues(t, "near", left[0].SessionID)
}
