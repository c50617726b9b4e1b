package sqlite_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

// BenchmarkTurn measures durable turns, accept and commit, of 1 KiB messages:
// two transactions each, shared when there are many writers.
func BenchmarkTurn(b *testing.B) {
	for _, frames := range []string{sqlite.FramesRecord, sqlite.FramesFile} {
		for _, writers := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("frames=%s/writers=%d", frames, writers), func(b *testing.B) { benchTurns(b, frames, writers) })
		}
	}
}

func benchTurns(b *testing.B, frames string, writers int) {
	b.Helper()
	s := open(b, filepath.Join(b.TempDir(), "a.db"), sqlite.Config{Frames: frames})
	content := strings.Repeat("x", 1024)
	var next atomic.Int64
	turn := func(target string) error {
		c := prompt(target, fmt.Sprint(next.Add(1)))
		c.Content = sessions.Text(content)
		a, err := s.AcceptTurn(b.Context(), c)
		if err == nil {
			_, err = s.CommitTurn(b.Context(), answer(a, content))
		}
		return err
	}
	for i := range writers {
		require.NoError(b, turn(fmt.Sprint("session-", i)))
	}
	before := s.Batches()
	b.ResetTimer()
	var group sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(b.N))
	for i := range writers {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				if err := turn(fmt.Sprint("session-", i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
	b.ReportMetric(float64(2*b.N)/float64(s.Batches()-before), "writes/commit")
}

// BenchmarkList measures the first page of 10,000 sessions.
func BenchmarkList(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "a.db"), sqlite.Config{Durability: sqlite.DurabilityProcess})
	var group sync.WaitGroup
	for part := range 50 {
		group.Go(func() {
			for i := range 200 {
				c := sessions.CreateSession{Owner: sessions.LocalOwner, NewID: sessions.SessionID(fmt.Sprintf("s-%d-%d", part, i)),
					Profile: "p", Now: sessions.Time(part*1000 + i)}
				if _, err := s.CreateSession(b.Context(), c); err != nil {
					b.Error(err)
				}
			}
		})
	}
	group.Wait()
	for b.Loop() {
		page, err := s.Sessions(b.Context(), sessions.SessionQuery{Owner: sessions.LocalOwner, Limit: 50})
		require.NoError(b, err)
		require.Len(b, page.Sessions, 50)
	}
}
