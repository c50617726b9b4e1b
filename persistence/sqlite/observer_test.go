package sqlite_test

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

// heard is an observer that adds up.
type heard struct {
	mu                      sync.Mutex
	commits, writes, failed int
}

func (h *heard) Committed(writes int, took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if took > 0 && writes > 0 {
		h.commits, h.writes = h.commits+1, h.writes+writes
	}
}

func (h *heard) Failed(writes int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed += writes
}

func TestObserverHearsOfEveryWriteAndNumbersAreTold(t *testing.T) {
	h := &heard{}
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{Observer: h})
	before := h.writes
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() { _ = s.CheckWritable(t.Context()) })
	}
	group.Wait()
	require.Equal(t, before+20, h.writes)
	require.LessOrEqual(t, h.commits, h.writes)
	require.Zero(t, h.failed)

	accepted, err := s.AcceptTurn(t.Context(), prompt("k", "r"))
	require.NoError(t, err)
	n, err := s.Numbers(t.Context())
	require.NoError(t, err)
	require.Zero(t, n.Unheard)
	require.Zero(t, n.Waiting)
	require.Positive(t, n.DatabaseBytes)
	require.Positive(t, n.JournalBytes)
	_, err = s.DeleteSession(t.Context(), sessions.DeleteSession{Owner: sessions.LocalOwner,
		At: sessions.Address{ID: accepted.Session.ID}, Announce: true, Now: 2}, nil)
	require.NoError(t, err)
	n, err = s.Numbers(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, n.Unheard)
}
