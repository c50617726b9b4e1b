package host_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/sessions"
)

// listener is a hook that notes what it hears, and fails as often as it is told.
type listener struct {
	mu    sync.Mutex
	fails []func() error // one a call, from the first
	heard []sessions.SessionID
	calls int
}

func (l *listener) hear(_ context.Context, gone []sessions.DeletedSession) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	for _, s := range gone {
		l.heard = append(l.heard, s.ID)
	}
	if len(l.fails) > 0 {
		fail := l.fails[0]
		l.fails = l.fails[1:]
		return fail()
	}
	return nil
}

func (l *listener) all() []sessions.SessionID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]sessions.SessionID{}, l.heard...)
}

func (b *bubble) remove(id sessions.SessionID) {
	b.t.Helper()
	_, err := b.SessionDelete(b.t.Context(), &api.SessionDeleteArgs{Address: api.Address{SessionID: id}})
	require.NoError(b.t, err)
}

func TestHookHearsOfEveryDeletedSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &listener{}
		b := inBubble(t, host.Config{OnDeleted: l.hear,
			Retention: host.Retention{Every: tick, RetentionRules: host.RetentionRules{MaxAge: span}}}, nil)
		b.make("root", "", "")
		b.make("child", "", "root")
		b.make("kept", "", "")
		b.remove("root")
		synctest.Wait()
		require.ElementsMatch(t, []sessions.SessionID{"root", "child"}, l.all())
		after(span + tick)
		require.Equal(t, sessions.SessionID("kept"), l.all()[2], "retention takes the same path")

		var made []sessions.SessionID
		for i := range 250 { // more than one call
			id := sessions.SessionID(fmt.Sprintf("s-%d", i))
			b.make(id, "", "")
			made = append(made, id)
		}
		_, err := b.SessionClearAll(t.Context(), &api.SessionClearAllArgs{})
		require.NoError(t, err)
		synctest.Wait()
		require.ElementsMatch(t, made, l.all()[3:])
		left, err := b.store.Unheard(t.Context(), 10)
		require.NoError(t, err)
		require.Empty(t, left, "nothing of it stays")
	})
}

func TestHookThatFailsIsCalledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &listener{fails: []func() error{
			func() error { return errors.New("not now") },
			func() error { panic("not now either") },
		}}
		b := inBubble(t, host.Config{OnDeleted: l.hear}, nil)
		b.make("a", "", "")
		b.remove("a")
		synctest.Wait()
		require.Equal(t, []sessions.SessionID{"a"}, l.all())
		after(time.Second)
		require.Equal(t, []sessions.SessionID{"a", "a"}, l.all())
		after(time.Second)
		require.Len(t, l.all(), 2, "the pause gets longer")
		after(time.Second)
		require.Equal(t, []sessions.SessionID{"a", "a", "a"}, l.all())
		after(span)
		require.Len(t, l.all(), 3)
	})
}

// deafStore forgets to note what was heard, as a crash would.
type deafStore struct {
	sessions.Store
	deaf bool
}

func (s *deafStore) Heard(ctx context.Context, heard []sessions.DeletedSession) error {
	if s.deaf {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Store.Heard(ctx, heard)
}

func TestHookHearsAgainAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, deaf := &listener{}, true
		b := inBubble(t, host.Config{OnDeleted: l.hear}, func(s sessions.Store) sessions.Store { return &deafStore{s, deaf} })
		b.make("a", "", "")
		b.make("b", "", "")
		b.remove("a")
		synctest.Wait()
		require.Equal(t, []sessions.SessionID{"a"}, l.all())
		_, err := b.SessionClearAll(t.Context(), &api.SessionClearAllArgs{})
		require.NoError(t, err)

		deaf = false
		b.restart()
		synctest.Wait()
		require.ElementsMatch(t, []sessions.SessionID{"a", "a", "b"}, l.all())
		b.restart()
		synctest.Wait()
		require.Len(t, l.all(), 3)
	})
}

// A host stops while its hook is at work: the hook's context ends, and the host
// waits for it.
func TestStopEndsTheHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, ended := make(chan struct{}, 1), make(chan struct{}, 1)
		b := inBubble(t, host.Config{OnDeleted: func(ctx context.Context, _ []sessions.DeletedSession) error {
			began <- struct{}{}
			<-ctx.Done()
			ended <- struct{}{}
			return ctx.Err()
		}}, nil)
		b.make("a", "", "")
		b.remove("a")
		<-began
		b.Stop()
		require.Len(t, ended, 1)
	})
}

func TestWithoutAHookNothingIsKeptToBeTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inBubble(t, host.Config{}, nil)
		b.make("a", "", "")
		b.make("b", "", "")
		b.remove("a")
		_, err := b.SessionClearAll(t.Context(), &api.SessionClearAllArgs{})
		require.NoError(t, err)
		left, err := b.store.Unheard(t.Context(), 10)
		require.NoError(t, err)
		require.Empty(t, left)
	})
}
