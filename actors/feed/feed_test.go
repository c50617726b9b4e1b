package feed_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"agenthost/actors/feed"
	"agenthost/sessions"
)

func TestSubscribeBeforeAndAfterPublishing(t *testing.T) {
	store := newShelf()
	f := feed.New(store)
	f.Publish(life, store.keep(life, 3)...) // nobody listens
	late := f.Subscribe(owner, life, 1)
	defer late.Close()
	f.Publish(life, store.keep(life, 2)...)
	nextSeqs(t, late, 2, 5)
	f.Publish(life, store.keep(life, 1)...)
	nextSeqs(t, late, 6, 6)
	nothingMore(t, late)
	require.Equal(t, sessions.CursorAt(life, 6), late.Cursor())
}

func TestSubscribeFarBehindReadsManyPages(t *testing.T) {
	store := newShelf()
	f := feed.New(store)
	store.keep(life, 3000)
	s := f.Subscribe(owner, life, 0)
	defer s.Close()
	nextSeqs(t, s, 1, 10)
	f.Publish(life, store.keep(life, 5)...)
	nextSeqs(t, s, 11, 3005)
	nothingMore(t, s)
}

func TestNextWakesWhenPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newShelf()
		f := feed.New(store)
		s := f.Subscribe(owner, life, 0)
		defer s.Close()
		got := make(chan sessions.Frame)
		go func() {
			frame, err := s.Next(context.Background())
			if err == nil {
				got <- frame
			}
			close(got)
		}()
		synctest.Wait() // it has found nothing and waits
		f.Publish(life, store.keep(life, 1)...)
		require.Equal(t, int64(1), (<-got).Seq)
		<-got
	})
}

func TestPublicationsInTheWrongOrder(t *testing.T) {
	store := newShelf()
	f := feed.New(store)
	s := f.Subscribe(owner, life, 0)
	defer s.Close()
	nothingMore(t, s)
	frames := store.keep(life, 3)
	f.Publish(life, frames[1])
	nextSeqs(t, s, 1, 3)
	f.Publish(life, frames[0])
	f.Publish(life, frames[2])
	nothingMore(t, s)
}

func TestUnnumberedFramesComeInTheirPlace(t *testing.T) {
	store := newShelf()
	f := feed.New(store)
	s := f.Subscribe(owner, life, 0)
	defer s.Close()
	nothingMore(t, s)
	delta := sessions.Frame{Body: sessions.Delta{Text: "a"}}
	f.Publish(life, store.keep(life, 1)[0], delta)
	f.Publish(life, store.keep(life, 1)...)
	nextSeqs(t, s, 1, 1)
	require.Equal(t, sessions.FrameDelta, next(t, s).Type())
	nextSeqs(t, s, 2, 2)
	require.Equal(t, sessions.CursorAt(life, 2), s.Cursor())
}

func TestSlowSubscriptionEndsWithItsCursor(t *testing.T) {
	store := newShelf()
	f := feed.New(store)
	slow, other := f.Subscribe(owner, life, 0), f.Subscribe(owner, life, 0)
	defer slow.Close()
	defer other.Close()
	f.Publish(life, store.keep(life, 2)...)
	nextSeqs(t, slow, 1, 2)
	for range 2000 {
		f.Publish(life, store.keep(life, 1)...)
		next(t, other)
	}
	end := ended(t, slow)
	require.Equal(t, feed.Slow, end.Reason)
	require.Equal(t, sessions.CursorAt(life, 2), end.Cursor)
	require.Equal(t, end, ended(t, slow), "again the same")

	_, seq, err := end.Cursor.Position("")
	require.NoError(t, err)
	again := f.Subscribe(owner, life, seq)
	defer again.Close()
	nextSeqs(t, again, 3, 2002)
}

// case 34, the stream of a prompt: it is never ended for being slow.
func TestCase34StreamCatchesUpFromTheStore(t *testing.T) {
	store := newShelf()
	f := feed.New(store)
	s := f.NewStream()
	defer s.Close()
	f.Attach(s, owner, life, "", 0, false)
	const all = 100_000
	for range all / 100 {
		f.Publish(life, store.keep(life, 100)...)
	}
	nextSeqs(t, s, 1, all)
	f.Publish(life, store.keep(life, 1)...)
	nextSeqs(t, s, all+1, all+1)
}

func TestCase34CutFramesShowAsAGap(t *testing.T) {
	store := newShelf()
	f := feed.New(store)
	store.keep(life, 10)
	store.cut(life, 4)
	s := f.Subscribe(owner, life, 1)
	defer s.Close()
	require.Equal(t, sessions.Frame{Body: sessions.Gap{From: 2, To: 4}}, next(t, s))
	require.Equal(t, sessions.CursorAt(life, 4), s.Cursor())
	nextSeqs(t, s, 5, 10)

	made := store.keep(life, 6)
	store.cut(life, 15)
	f.Publish(life, made[5])
	require.Equal(t, sessions.Gap{From: 11, To: 15}, next(t, s).Body, "only what is published shows that there was more")
	nextSeqs(t, s, 16, 16)
	nothingMore(t, s)
}

func TestLostFramesShowAsGapsOnce(t *testing.T) {
	store := newShelf()
	f := feed.New(store)
	store.keep(life, 10)
	store.cut(life, 2)
	store.lose(life, 5, 6)
	store.lose(life, 9, 10)
	s := f.Subscribe(owner, life, 0)
	defer s.Close()
	require.Equal(t, sessions.Gap{From: 1, To: 2}, next(t, s).Body)
	nextSeqs(t, s, 3, 4)
	require.Equal(t, sessions.Gap{From: 5, To: 6}, next(t, s).Body)
	nextSeqs(t, s, 7, 8)
	require.Equal(t, sessions.Gap{From: 9, To: 10}, next(t, s).Body, "nothing later needs to show that there was more")
	require.Equal(t, sessions.CursorAt(life, 10), s.Cursor())
	nothingMore(t, s)
	f.Publish(life, store.keep(life, 1)...)
	nextSeqs(t, s, 11, 11)
	nothingMore(t, s)
}

func TestStreamIsAttachedOnceItsSessionExists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newShelf()
		f := feed.New(store)
		s := f.NewStream()
		defer s.Close()
		require.Empty(t, s.Cursor())
		seqs := make(chan int64, 10)
		var reader sync.WaitGroup
		reader.Go(func() {
			for range 4 {
				frame, err := s.Next(context.Background())
				if err != nil {
					return
				}
				seqs <- frame.Seq
			}
		})
		synctest.Wait()
		first := store.keep(life, 2)
		f.Attach(s, owner, life, "", 0, true)
		f.Attach(s, owner, life+1, "", 0, true) // does nothing
		f.Publish(life, first...)
		synctest.Wait()
		f.Publish(life+1, store.keep(life+1, 1)...)
		f.Publish(life, store.keep(life, 2)...)
		reader.Wait()
		for want := range int64(4) {
			require.Equal(t, want+1, <-seqs)
		}
	})
}

func TestListening(t *testing.T) {
	f := feed.New(newShelf())
	require.False(t, f.Listening(life))
	a, b := f.Subscribe(owner, life, 0), f.Subscribe(owner, life, 0)
	require.True(t, f.Listening(life))
	require.False(t, f.Listening(life+1))
	a.Close()
	a.Close()
	require.True(t, f.Listening(life))
	b.Close()
	require.False(t, f.Listening(life))
}

func TestEndsComeAfterWhatWasPublished(t *testing.T) {
	store := newShelf()
	f := feed.New(store)
	mine, other, foreign := f.Subscribe(owner, life, 0), f.Subscribe(owner, life+1, 0), f.Subscribe("eve", life+2, 0)
	defer other.Close()
	nothingMore(t, mine)
	f.Publish(life, store.keep(life, 2)...)
	f.End(life, feed.Deleted)
	f.Publish(life, store.keep(life, 1)...) // too late
	nextSeqs(t, mine, 1, 2)
	require.Equal(t, &feed.EndError{Reason: feed.Deleted, Cursor: sessions.CursorAt(life, 2)}, ended(t, mine))
	require.False(t, f.Listening(life))
	nothingMore(t, other)

	f.EndOwner(owner, life, feed.Deleted)
	nothingMore(t, other)
	f.EndOwner(owner, life+5, feed.Deleted)
	require.Equal(t, feed.Deleted, ended(t, other).Reason)
	nothingMore(t, foreign)

	f.Stop()
	require.Equal(t, feed.Stopping, ended(t, foreign).Reason)
	late := f.Subscribe(owner, life+9, 0)
	require.Equal(t, feed.Stopping, ended(t, late).Reason)
	stream := f.NewStream()
	f.Attach(stream, owner, life+9, "", 0, false)
	require.Equal(t, feed.Stopping, ended(t, stream).Reason)
}

func TestClosedIsOverAtOnce(t *testing.T) {
	store := newShelf()
	f := feed.New(store)
	store.keep(life, 600)
	s := f.Subscribe(owner, life, 0)
	nextSeqs(t, s, 1, 3) // the rest of a page and more pages are left
	f.Publish(life, store.keep(life, 1)...)
	s.Close()
	require.Equal(t, &feed.EndError{Reason: feed.Closed, Cursor: sessions.CursorAt(life, 3)}, ended(t, s))

	never := f.NewStream()
	never.Close()
	f.Attach(never, owner, life, "", 0, true)
	require.Equal(t, feed.Closed, ended(t, never).Reason)
	require.False(t, f.Listening(life))
}

func TestStoreErrorsMayPass(t *testing.T) {
	store := newShelf()
	f := feed.New(store)
	store.keep(life, 2)
	s := f.Subscribe(owner, life, 0)
	defer s.Close()
	away := sessions.Errorf(sessions.CodeStoreUnavailable, "The store is away.")
	store.fail(away)
	_, err := s.Next(t.Context())
	require.ErrorIs(t, err, away)
	store.fail(nil)
	nextSeqs(t, s, 1, 2)
}

func TestDeletedLifeEndsItsReaders(t *testing.T) {
	store := newShelf()
	f := feed.New(store)
	store.fail(sessions.Errorf(sessions.CodeSessionNotFound, "There is none."))
	s := f.Subscribe(owner, life, 0)
	defer s.Close()
	require.Equal(t, feed.Deleted, ended(t, s).Reason)
}

func TestEndErrorNamesItsReason(t *testing.T) {
	require.ErrorContains(t, errors.Join(&feed.EndError{Reason: feed.Slow}), "slow")
}

// A reader who catches up when the host stops is told that, and not of its store.
func TestCatchingUpEndsWithTheHost(t *testing.T) {
	store := newShelf()
	f := feed.New(store)
	store.keep(life, 3)
	s := f.Subscribe(owner, life, 0)
	defer s.Close()
	f.Stop()
	store.fail(sessions.ErrStoreClosed)
	require.Equal(t, &feed.EndError{Reason: feed.Stopping, Cursor: sessions.CursorAt(life, 0)}, ended(t, s))
}
