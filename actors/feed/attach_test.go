package feed_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"agenthost/actors/feed"
	"agenthost/sessions"
)

// readTo reads numbered frames up to seq and returns what is wrong with them.
func readTo(s *feed.Subscription, after, to int64) error {
	for want := after + 1; want <= to; want++ {
		f, err := s.Next(context.Background())
		if err != nil {
			return fmt.Errorf("instead of frame %d: %w", want, err)
		}
		if f.Seq != want {
			return fmt.Errorf("frame %d came instead of %d", f.Seq, want)
		}
	}
	return nil
}

// The last frame is the one a reader must not miss, as none comes after it to
// show the hole: each round has its publisher and its readers begin at once.
func TestCase36AttachWhilePublishing(t *testing.T) {
	store := newShelf()
	f := feed.New(store)
	const readers, frames = 8, 6
	for round := range sessions.Incarnation(1000) {
		of := round + 1
		var all sync.WaitGroup
		faults := make(chan error, 2*readers)
		for i := range readers {
			after := int64(i % 3)
			stream := f.NewStream()
			all.Go(func() { // reads while it is attached
				faults <- readTo(stream, after, frames)
				stream.Close()
			})
			all.Go(func() { f.Attach(stream, owner, of, "", after, true) })
			all.Go(func() {
				s := f.Subscribe(owner, of, after)
				faults <- readTo(s, after, frames)
				s.Close()
			})
		}
		all.Go(func() {
			for range frames {
				f.Publish(of, store.keep(of, 1)...)
			}
		})
		all.Wait()
		close(faults)
		for err := range faults {
			require.NoError(t, err, "round %d", round)
		}
		require.False(t, f.Listening(of))
	}
}

func TestPublishersOfManyLives(t *testing.T) {
	store := newShelf()
	f := feed.New(store)
	const lives, frames = 16, 3000
	var all sync.WaitGroup
	faults := make(chan error, 3*lives)
	for of := range sessions.Incarnation(lives) {
		for range 3 {
			s := f.NewStream()
			f.Attach(s, owner, of+1, "", 0, true)
			all.Go(func() {
				defer s.Close()
				faults <- readTo(s, 0, frames)
			})
		}
		all.Go(func() {
			for left := frames; left > 0; {
				n := min(left, 1+rand.IntN(20))
				f.Publish(of+1, store.keep(of+1, n)...)
				left -= n
			}
		})
	}
	all.Wait()
	close(faults)
	for err := range faults {
		require.NoError(t, err)
	}
}

// A reader sees every number once and in order, whatever happens around it.
func TestSubscriptionModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := newShelf()
		f := feed.New(store)
		store.keep(life, rapid.IntRange(0, 600).Draw(t, "before"))
		start := rapid.Int64Range(0, store.newest[life]).Draw(t, "start")
		s := f.NewStream()
		defer s.Close()
		f.Attach(s, owner, life, "", start, true)
		last := start
		var unpublished []sessions.Frame
		read := func(t *rapid.T) bool {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			frame, err := s.Next(ctx)
			if err != nil {
				return false
			}
			if frame.Seq != last+1 {
				t.Fatalf("frame %d after %d", frame.Seq, last)
			}
			last = frame.Seq
			return true
		}
		t.Repeat(map[string]func(*rapid.T){
			"keep": func(t *rapid.T) {
				unpublished = append(unpublished, store.keep(life, rapid.IntRange(1, 700).Draw(t, "n"))...)
			},
			"publish": func(t *rapid.T) { // any part of what waits, in any order
				if len(unpublished) == 0 {
					t.Skip()
				}
				from := rapid.IntRange(0, len(unpublished)-1).Draw(t, "from")
				to := rapid.IntRange(from+1, len(unpublished)).Draw(t, "to")
				f.Publish(life, unpublished[from:to]...)
				unpublished = append(unpublished[:from:from], unpublished[to:]...)
			},
			"read": func(t *rapid.T) {
				for range rapid.IntRange(1, 300).Draw(t, "n") {
					if !read(t) {
						return
					}
				}
			},
		})
		f.Publish(life, unpublished...)
		f.Publish(life, store.keep(life, 1)...)
		for read(t) {
		}
		if last != store.newest[life] {
			t.Fatalf("the reader stays at %d of %d", last, store.newest[life])
		}
	})
}
