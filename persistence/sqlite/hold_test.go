package sqlite_test

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

func TestHoldKeepsTheOrderOfWrites(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "test.db"), sqlite.Config{})
	first := s.Hold()
	first.Reached()
	create := func(title string) <-chan sessions.CreatedSession {
		made := make(chan sessions.CreatedSession, 1)
		before := s.Waiting()
		go func() {
			c, err := s.CreateSession(t.Context(), sessions.CreateSession{
				Owner: sessions.LocalOwner, At: sessions.Address{ID: "a"}, Profile: sessions.DefaultProfile, Title: title,
			})
			if err != nil {
				c.Session.Title = err.Error()
			}
			made <- c
		}()
		for s.Waiting() == before {
			runtime.Gosched()
		}
		return made
	}
	one := create("one")
	between := s.Hold()
	other := create("other")
	require.Equal(t, 3, s.Waiting())
	first.Go()
	between.Reached()
	require.True(t, (<-one).Created)
	require.Empty(t, other, "it stands behind the stop")
	between.Go()
	got := <-other
	require.False(t, got.Created)
	require.Equal(t, "one", got.Session.Title)
	between.Go()

	require.NoError(t, s.Close())
	late := s.Hold()
	late.Reached()
	late.Go()
}
