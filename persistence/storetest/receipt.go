package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testReceipt(t *testing.T, f Factory) {
	f.run(t, "each delete counts what it took, beside others and beside sweeps", func(t *testing.T) { ownCounts(t, f) })
	f.run(t, "a clear counts no session that was deleted before", func(t *testing.T) { clearAfterDelete(t, f, "nobody") })
	f.run(t, "nor does one beside another owner's session", func(t *testing.T) { clearAfterDelete(t, f, "neighbour") })
}

// longMessages is how many messages a session has whose removal takes a while.
const longMessages = 3000

// long makes a session of many messages.
func (w *world) long(id sessions.SessionID) {
	w.t.Helper()
	w.root(id)
	messages := make([]sessions.Message, longMessages)
	for i := range messages {
		messages[i] = sessions.Message{Role: sessions.RoleUser, Content: sessions.Text("text")}
	}
	_, err := w.store.SeedSession(w.t.Context(), sessions.SeedSession{Owner: owner, At: byID(id), Messages: messages, Now: w.now})
	require.NoError(w.t, err)
}

func ownCounts(t *testing.T, f Factory) {
	w := newWorld(t, f)
	const many = 4
	for i := range many {
		w.long(sessions.SessionID(fmt.Sprint("long-", i)))
	}
	remove := func(id sessions.SessionID, hidden func([]sessions.DeletedSession)) (*sessions.Receipt, error) {
		return w.store.DeleteSession(context.Background(), sessions.DeleteSession{Owner: owner, At: byID(id), TombstoneMs: day, Now: w.now}, hidden)
	}
	var receipts [many]*sessions.Receipt
	var errs [3 * many]error
	var work sync.WaitGroup
	for i := range many {
		work.Go(func() {
			receipts[i], errs[3*i] = remove(sessions.SessionID(fmt.Sprint("long-", i)), func([]sessions.DeletedSession) {
				work.Go(func() { errs[3*i+1] = w.store.Sweep(context.Background(), w.now) })
				work.Go(func() { _, errs[3*i+2] = remove("nobody", nil) })
			})
		})
	}
	work.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	for _, r := range receipts {
		require.Equal(t, sessions.Receipt{Sessions: 1, Complete: true, Rows: map[string]int64{"sessions": 1, "session_messages": longMessages}}, *r)
	}
}

func clearAfterDelete(t *testing.T, f Factory, neighbour sessions.Owner) {
	w := newWorld(t, f)
	if neighbour != "nobody" {
		w.create(sessions.CreateSession{Owner: neighbour, Profile: sessions.DefaultProfile})
	}
	w.long("long")
	w.root("short")
	var cleared sessions.Receipt
	var clearErr error
	var work sync.WaitGroup
	defer work.Wait()
	_, err := w.store.DeleteSession(t.Context(), sessions.DeleteSession{Owner: owner, At: byID("long"), TombstoneMs: day, Now: w.now},
		func([]sessions.DeletedSession) {
			work.Go(func() {
				cleared, clearErr = w.store.ClearOwner(context.Background(), sessions.ClearOwner{Owner: owner, TombstoneMs: day, Now: w.now}, nil)
			})
			for { // until the clear has hidden the other
				if _, err := w.store.Session(context.Background(), owner, byID("short")); err != nil {
					return
				}
			}
		})
	require.NoError(t, err)
	work.Wait()
	require.NoError(t, clearErr)
	require.True(t, cleared.Complete)
	require.EqualValues(t, 1, cleared.Sessions)
}
