package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
)

// Field case 18: sessions are written, one reader lists, and another process
// locks the database, once for a while and once for longer than the host waits.
// Nothing that was acknowledged is lost, and all is well afterwards.
func TestCase18AnotherProcessLocksTheDatabase(t *testing.T) {
	const writers = 64
	folder := t.TempDir()
	host := serve(t, folder, append(writeScript(t, folder, script()), "--listen", "127.0.0.1:0")...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := &ledger{}
	var working, reading sync.WaitGroup
	stop := make(chan struct{})
	for n := range writers {
		w := &worker{number: n, rand: rand.New(rand.NewPCG(18, uint64(n))), wire: newWire(host.url), ledger: l, groups: func() int { return 0 }}
		working.Go(func() {
			defer w.wire.http.CloseIdleConnections()
			for k := 0; ; k++ {
				select {
				case <-stop:
					return
				case <-ctx.Done():
					return
				default:
				}
				r := w.next()
				r.at = byKey(fmt.Sprintf("own-%d", n))
				r.complete(ctx, w.wire, k%2 == 0)
			}
		})
	}
	var listed atomic.Int64
	reading.Go(func() {
		w := newWire(host.url)
		defer w.http.CloseIdleConnections()
		for ctx.Err() == nil {
			if _, err := ask[api.SessionListResult](ctx, w, api.OpSessionList, api.SessionListArgs{}); err != nil {
				if ctx.Err() == nil {
					t.Errorf("the reader is disturbed: %v", err)
				}
				return
			}
			listed.Add(1)
		}
	})

	other := startLocker(t, within(folder, "a.db"))
	for _, held := range []time.Duration{4 * time.Second, 20 * time.Second} {
		answered := len(l.all()) - len(l.unfinished())
		require.Eventually(t, func() bool { return len(l.all())-len(l.unfinished()) >= answered+writers }, patience, 10*time.Millisecond)
		other.do(t, "BEGIN IMMEDIATE")
		seen := listed.Load()
		time.Sleep(held)
		require.Greater(t, listed.Load(), seen, "reads go on under the lock")
		other.do(t, "ROLLBACK")
	}
	waitingFor := l.unfinished()
	require.NotEmpty(t, waitingFor)
	require.Eventually(t, func() bool {
		for _, r := range waitingFor {
			if !r.isDone() {
				return false
			}
		}
		return true
	}, patience, 10*time.Millisecond, "all is well after the lock")
	close(stop)
	working.Wait()
	cancel()
	reading.Wait()
	require.Empty(t, l.unfinished())
	require.Empty(t, l.faults())
	host.stop(t)
	requireSound(t, within(folder, "a.db"), l.told())
	requireValidHistories(t, within(folder, "a.db"))
}
