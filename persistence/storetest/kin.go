package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// root makes a session without a parent.
func (w *world) root(id sessions.SessionID) sessions.Session {
	w.t.Helper()
	return w.create(sessions.CreateSession{At: byID(id), Profile: sessions.DefaultProfile})
}

// child makes a local child, whose parent gets a ref to it.
func (w *world) child(parent, id sessions.SessionID) sessions.Session {
	w.t.Helper()
	return w.childAt(parent, id, sessions.Local)
}

func (w *world) childAt(parent, id sessions.SessionID, where sessions.Location) sessions.Session {
	w.t.Helper()
	return w.create(sessions.CreateSession{At: byID(id), Profile: sessions.DefaultProfile, ParentID: parent, ParentLocation: where})
}

// refer gives a session a ref to another.
func (w *world) refer(from sessions.Session, to sessions.SessionID, where sessions.Location) {
	w.t.Helper()
	_, err := w.store.AddRefs(w.t.Context(), from.Fence.Incarnation, []sessions.Ref{w.ref(to, where)})
	require.NoError(w.t, err)
}

// ref returns a ref as a caller makes it.
func (w *world) ref(to sessions.SessionID, where sessions.Location) sessions.Ref {
	ref := sessions.Ref{SessionID: to, Location: where, ProfileKey: sessions.DefaultProfile, CreatedAt: w.now}
	if where == sessions.Remote {
		ref.Host, ref.Status = "elsewhere", sessions.RefRunning
	}
	return ref
}

// refs returns the refs of a life.
func (w *world) refs(life sessions.Incarnation) []sessions.Ref {
	w.t.Helper()
	refs, err := w.store.Refs(w.t.Context(), life)
	require.NoError(w.t, err)
	return refs
}

// family makes a tree of three levels below its root with at least 50 children,
// some of which are known by a ref alone. Every one has had a turn.
func (w *world) family(mark string) (all []sessions.Session) {
	w.t.Helper()
	root := w.create(sessions.CreateSession{At: sessions.Address{ID: sessions.SessionID(mark), Key: sessions.Key{Target: mark, Profile: mark}}})
	level := []sessions.Session{root}
	all = append(all, root)
	for depth, width := range []int{5, 3, 2} {
		var next []sessions.Session
		for _, parent := range level {
			for i := range width {
				id := sessions.SessionID(fmt.Sprintf("%s.%d", parent.ID, i))
				if depth == 2 && i == 0 {
					next = append(next, w.root(id))
					w.refer(parent, id, sessions.Local)
					continue
				}
				next = append(next, w.child(parent.ID, id))
			}
		}
		level = next
		all = append(all, next...)
	}
	for i := range all {
		w.turn(addressOf(all[i]), mark, mark)
		all[i] = w.get(addressOf(all[i]))
	}
	return all
}

// cascade ends a session and what is below it, and returns the ids of all that
// ended.
func (w *world) cascade(at sessions.Address) (ids []sessions.SessionID) {
	w.t.Helper()
	receipt, gone := w.delete(sessions.DeleteSession{At: at})
	if receipt == nil {
		return nil
	}
	require.EqualValues(w.t, len(gone), receipt.Sessions)
	require.EqualValues(w.t, len(gone), receipt.Rows["sessions"])
	for _, s := range gone {
		ids = append(ids, s.ID)
	}
	return ids
}

// delete runs a delete as far as its end.
func (w *world) delete(c sessions.DeleteSession) (*sessions.Receipt, []sessions.DeletedSession) {
	w.t.Helper()
	receipt, gone, err := w.tryDelete(c)
	require.NoError(w.t, err)
	if receipt != nil {
		require.True(w.t, receipt.Complete)
	}
	return receipt, gone
}

// tryDelete runs a delete, which may fail.
func (w *world) tryDelete(c sessions.DeleteSession) (receipt *sessions.Receipt, gone []sessions.DeletedSession, err error) {
	c.Owner, c.TombstoneMs, c.Now = owner, 30*day, w.now
	receipt, err = w.store.DeleteSession(w.t.Context(), c, func(all []sessions.DeletedSession) { gone = append(gone, all...) })
	return receipt, gone, err
}

// requireGone requires that no session has any of the ids.
func (w *world) requireGone(ids ...sessions.SessionID) {
	w.t.Helper()
	for _, id := range ids {
		_, err := w.store.Session(w.t.Context(), owner, byID(id))
		requireCode(w.t, sessions.CodeSessionNotFound, err)
	}
}
