package actortest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/offline"
	"agenthost/sessions"
)

func offlineProfile() actortest.Profiles {
	return actortest.Profiles{sessions.DefaultProfile: {Oracle: offline.New()}}
}

func TestWorld(t *testing.T) {
	w := actortest.New(t, offlineProfile(), actortest.Config{})
	at := actortest.Key("a")
	require.NotEmpty(t, w.Say(at, "hello"))
	require.Len(t, w.History(at), 2)
	require.NotEmpty(t, w.Frames(at))
	w.Eventually(func() bool { return w.Resident(at) }, "that the root knows of the session")
}

func TestWorldIsOpenedAgain(t *testing.T) {
	w := actortest.Open(t, offlineProfile(), actortest.Config{})
	w.Say(actortest.Key("a"), "hello")
	w.Close()
	w.Close()
	w = actortest.New(t, offlineProfile(), actortest.Config{Path: w.Path})
	require.Len(t, w.History(actortest.Key("a")), 2)
}

// In a bubble hours pass in no time, and everything sees them pass.
func TestBubble(t *testing.T) {
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		w := actortest.NewInBubble(t, offlineProfile(), actortest.Config{Config: actors.Config{IdleTTL: time.Hour}})
		at := actortest.Key("a")
		w.Say(at, "hello")
		before := w.Session(at).LastActiveAt
		time.Sleep(2 * time.Hour)
		require.False(t, w.Resident(at))
		w.Say(at, "again")
		require.Equal(t, 2*time.Hour, w.Session(at).LastActiveAt.Sub(before))
	})
	require.Less(t, time.Since(began), time.Hour)
}
