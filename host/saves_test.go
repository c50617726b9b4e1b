package host

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// heldSetter is a store whose writes wait to be let through.
type heldSetter struct {
	through chan error // what each write answers

	mu      sync.Mutex
	written []string
}

func (h *heldSetter) set(_ context.Context, c sessions.SetState) (int64, error) {
	if err := <-h.through; err != nil {
		return 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.written = append(h.written, string(c.Value))
	return int64(len(h.written)), nil
}

func (h *heldSetter) values() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.written...)
}

// underWay counts the values being written, once everyone is at rest.
func underWay(s *saves) int {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.writing)
}

func saveOf(name string, n int) sessions.SetState {
	return sessions.SetState{Owner: sessions.LocalOwner, At: sessions.Address{ID: "s"}, Name: name, Value: json.RawMessage(strconv.Itoa(n))}
}

func TestSavesThatWaitAreStoredAsTheLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &heldSetter{through: make(chan error)}
		s := newSaves(h.set)
		versions := make([]int64, 11)
		var all sync.WaitGroup
		for n := range versions {
			all.Go(func() {
				var err error
				versions[n], err = s.save(t.Context(), saveOf("a", n))
				require.NoError(t, err)
			})
			synctest.Wait() // so that they come in order; the first is being written
		}
		h.through <- nil
		h.through <- nil
		all.Wait()
		require.Equal(t, []string{"0", "10"}, h.values(), "the first, then the latest of those that waited")
		require.EqualValues(t, 1, versions[0])
		for _, v := range versions[1:] {
			require.EqualValues(t, 2, v, "every waiter hears of the commit that holds its value or a newer one")
		}
		require.Zero(t, underWay(s), "nothing is kept of a value at rest")
	})
}

func TestAFailedSaveIsToldToThoseWhoWaitedForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &heldSetter{through: make(chan error)}
		s := newSaves(h.set)
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { _, err := s.save(t.Context(), saveOf("a", 1)); first <- err }()
		synctest.Wait()
		go func() { _, err := s.save(t.Context(), saveOf("a", 2)); second <- err }()
		synctest.Wait()
		full := errors.New("the disk is full")
		h.through <- full
		require.ErrorIs(t, <-first, full)
		h.through <- nil
		require.NoError(t, <-second)
		require.Equal(t, []string{"2"}, h.values())
	})
}

func TestSavesOfTwoValuesDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &heldSetter{through: make(chan error)}
		s := newSaves(h.set)
		var all sync.WaitGroup
		for _, name := range []string{"a", "b"} {
			all.Go(func() {
				_, err := s.save(t.Context(), saveOf(name, 1))
				require.NoError(t, err)
			})
		}
		require.Equal(t, 2, underWay(s))
		h.through <- nil
		h.through <- nil
		all.Wait()
	})
}

func TestACallerWhoGivesUpOnASaveDoesNotStopIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &heldSetter{through: make(chan error)}
		s := newSaves(h.set)
		ctx, giveUp := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { _, err := s.save(ctx, saveOf("a", 1)); ended <- err }()
		synctest.Wait()
		giveUp()
		require.ErrorIs(t, <-ended, sessions.ErrOutcomeUnknown)
		h.through <- nil
		synctest.Wait()
		require.Equal(t, []string{"1"}, h.values())
	})
}
