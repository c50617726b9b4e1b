package feed_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors/feed"
	"agenthost/sessions"
)

const (
	owner sessions.Owner       = "ada"
	life  sessions.Incarnation = 7
)

// shelf is a store of the frames of lives, as far as a feed needs one.
type shelf struct {
	mu     sync.Mutex
	frames map[sessions.Incarnation][]sessions.Frame
	newest map[sessions.Incarnation]int64
	reads  int
	fault  error
}

func newShelf() *shelf {
	return &shelf{frames: map[sessions.Incarnation][]sessions.Frame{}, newest: map[sessions.Incarnation]int64{}}
}

// keep stores n more frames of a life and returns them.
func (s *shelf) keep(of sessions.Incarnation, n int) []sessions.Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	made := make([]sessions.Frame, n)
	for i := range made {
		s.newest[of]++
		made[i] = sessions.Frame{Seq: s.newest[of], Cursor: sessions.CursorAt(of, s.newest[of]), Body: sessions.Started{}}
	}
	s.frames[of] = append(s.frames[of], made...)
	return made
}

// cut removes the frames of a life up to seq, as retention does.
func (s *shelf) cut(of sessions.Incarnation, upTo int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frames[of] = slices.DeleteFunc(s.frames[of], func(f sessions.Frame) bool { return f.Seq <= upTo })
}

// lose removes the frames of a life between two seqs, inclusive, as a loss of
// power does.
func (s *shelf) lose(of sessions.Incarnation, from, to int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frames[of] = slices.DeleteFunc(s.frames[of], func(f sessions.Frame) bool { return f.Seq >= from && f.Seq <= to })
}

func (s *shelf) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = err
}

func (s *shelf) Frames(_ context.Context, of sessions.Incarnation, q sessions.FrameQuery) (sessions.FramePage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if s.fault != nil {
		return sessions.FramePage{}, s.fault
	}
	page := sessions.FramePage{Last: s.newest[of]}
	next := q.AfterSeq + 1
	for _, f := range s.frames[of] {
		if f.Seq < next {
			continue
		}
		if len(page.Frames) == q.Limit {
			page.HasMore = true
			return page, nil
		}
		lack(&page, next, f.Seq-1)
		page.Frames, next = append(page.Frames, f), f.Seq+1
	}
	lack(&page, next, page.Last)
	return page, nil
}

func lack(page *sessions.FramePage, from, to int64) {
	if from <= to {
		page.Missing = append(page.Missing, sessions.Gap{From: from, To: to})
	}
}

// next returns the next frame and requires that there is one.
func next(t *testing.T, s *feed.Subscription) sessions.Frame {
	t.Helper()
	f, err := s.Next(t.Context())
	require.NoError(t, err)
	return f
}

// nextSeqs requires that the next frames have these seqs.
func nextSeqs(t *testing.T, s *feed.Subscription, from, to int64) {
	t.Helper()
	for seq := from; seq <= to; seq++ {
		f := next(t, s)
		require.Equal(t, seq, f.Seq, "%v", f)
	}
}

// nothingMore requires that no frame is at hand.
func nothingMore(t *testing.T, s *feed.Subscription) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f, err := s.Next(ctx)
	require.ErrorIs(t, err, context.Canceled, "%v", f)
}

// ended requires that the subscription is over, and returns the end.
func ended(t *testing.T, s *feed.Subscription) *feed.EndError {
	t.Helper()
	_, err := s.Next(t.Context())
	end, ok := errors.AsType[*feed.EndError](err)
	require.True(t, ok, "%v", err)
	return end
}
