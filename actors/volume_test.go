//go:build !race

package actors_test

import (
	"math"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
)

// heapNow is what is in use after a full collection.
func heapNow() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// promptEach prompts n sessions from a few hundred callers, and returns how many
// prompts failed.
func promptEach(w *actortest.World, from, n int) int64 {
	var next, failed atomic.Int64
	var all sync.WaitGroup
	for range 400 {
		all.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(n) {
					return
				}
				if r := w.Send(actortest.Key(strconv.Itoa(from+int(i))), "hello").Reply(); r.Err != nil {
					failed.Add(1)
				}
			}
		})
	}
	all.Wait()
	return failed.Load()
}

// case 32
func TestCase32VolumeOfSessions(t *testing.T) {
	w := actortest.New(t, profiles(oracleFunc(repeatUser)), actortest.Config{Config: actors.Config{IdleTTL: 500 * time.Millisecond}})
	const warm, batch, batches = 40_000, 20_000, 3
	// The actor library's registry has some ten thousand maps, each of which
	// keeps the room for its first few names. After the warm-up they have it.
	require.Zero(t, promptEach(w, 0, warm))
	w.AwaitIdle()
	goroutines := runtime.NumGoroutine()
	// What sessions leave behind grows with each batch; room that is kept for the
	// many that were in memory at a time grows once in a while.
	least := int64(math.MaxInt64)
	for i := range batches {
		heap, began := heapNow(), time.Now()
		require.Zero(t, promptEach(w, warm+i*batch, batch))
		took := time.Since(began)
		w.AwaitIdle()
		more := heapNow() - heap
		least = min(least, more)
		t.Logf("%d sessions in %v; heap grew by %d B, %.1f a session; goroutines %d, then %d",
			batch, took.Round(time.Millisecond), more, float64(more)/batch, goroutines, runtime.NumGoroutine())
	}
	require.Less(t, least, int64(70*batch), "the memory of evicted sessions")
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines+5)
}

// BenchmarkResidentSession shows what an idle session in memory costs, its
// history of two short messages included.
func BenchmarkResidentSession(b *testing.B) {
	for range b.N {
		w := actortest.Open(b, profiles(oracleFunc(repeatUser)), actortest.Config{})
		const sessions = 5_000
		if failed := promptEach(w, 0, 500); failed > 0 {
			b.Fatalf("%d prompts failed", failed)
		}
		before := heapNow()
		if failed := promptEach(w, 500, sessions); failed > 0 {
			b.Fatalf("%d prompts failed", failed)
		}
		time.Sleep(100 * time.Millisecond) // the goroutines of the last turns end
		b.ReportMetric(float64(heapNow()-before)/sessions, "B/session")
		if resident, _ := w.System.Counts(); resident != sessions+500 {
			b.Fatalf("%d sessions are resident", resident)
		}
		w.Close()
	}
}
