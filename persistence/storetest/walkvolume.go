package storetest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// walkOfMany walks a long list while some of its sessions change, others go and
// new ones come.
func walkOfMany(t *testing.T, f Factory) {
	const all, makers, page = 100_000, 50, 500
	w := newWorld(t, f)
	ids := make([]sessions.SessionID, all)
	for i := range all {
		ids[i] = sessions.SessionID(fmt.Sprintf("s-%06d", i))
	}
	w.makeAll(ids, makers)
	seen, touched := map[sessions.SessionID]int{}, map[sessions.SessionID]bool{}
	q := sessions.SessionQuery{Owner: owner, Limit: page}
	for n := 0; ; n++ {
		got, err := w.store.Sessions(t.Context(), q)
		require.NoError(t, err)
		for _, s := range got.Sessions {
			seen[s.ID]++
		}
		if q.Cursor = got.NextCursor; q.Cursor == "" {
			break
		}
		w.now++
		changed, removed := ids[(n*7919)%all], ids[(n*104_729+1)%all]
		if !touched[changed] && !touched[removed] && changed != removed {
			touched[changed], touched[removed] = true, true
			w.turn(byID(changed), "question", "reply")
			w.remove(byID(removed))
		}
		w.session()
	}
	for _, id := range ids {
		require.LessOrEqual(t, seen[id], 1, "%s came twice", id)
		if !touched[id] {
			require.Equal(t, 1, seen[id], "%s did not change and must come once", id)
		}
	}
}

// makeAll makes sessions, many at once, in pairs of one age.
func (w *world) makeAll(ids []sessions.SessionID, makers int) {
	errs := make([]error, makers)
	var group sync.WaitGroup
	for m := range makers {
		group.Go(func() {
			for i := m; i < len(ids) && errs[m] == nil; i += makers {
				_, errs[m] = w.store.CreateSession(w.t.Context(), sessions.CreateSession{Owner: owner, At: byID(ids[i]),
					Profile: sessions.DefaultProfile, Now: w.now + sessions.Time(i/2)})
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		require.NoError(w.t, err)
	}
	w.now += sessions.Time(len(ids))
}
