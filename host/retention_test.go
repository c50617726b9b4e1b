package host_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/sessions"
)

const (
	tick = 2 * time.Minute  // between two sweeps of the retention
	span = 10 * time.Minute // what the ages of the rules are counted in
)

// after lets fake time pass, and what it wakes come to rest.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// keeping is a host in fake time with rules.
func keeping(t *testing.T, rules host.RetentionRules) *bubble {
	t.Helper()
	return inBubble(t, host.Config{Retention: host.Retention{Every: tick, RetentionRules: rules}}, nil)
}

func TestRetentionIsOffByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inBubble(t, host.Config{}, nil)
		b.make("a", "", "")
		after(100 * span)
		require.Equal(t, []sessions.SessionID{"a"}, b.ids())
		require.Zero(t, b.RetentionStats())
		info, err := b.HostInfo(t.Context(), &api.HostInfoArgs{})
		require.NoError(t, err)
		require.Nil(t, info.Retention)
	})
}

func TestRetentionByAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := keeping(t, host.RetentionRules{MaxAge: 10 * span})
		b.make("spoken-to", "", "")
		b.make("silent", "", "")
		b.make("child", "", "silent")
		after(9 * span)
		b.say("spoken-to")
		after(span + tick)
		require.Equal(t, []sessions.SessionID{"spoken-to"}, b.ids())

		stats := b.RetentionStats()
		require.EqualValues(t, 1, stats.Trees)
		require.EqualValues(t, 2, stats.Sessions)
		require.Zero(t, stats.Failures)
		info, err := b.HostInfo(t.Context(), &api.HostInfoArgs{})
		require.NoError(t, err)
		require.Equal(t, &stats, info.Retention)
		require.Contains(t, b.log.String(), `session=silent owner=local sessions=2 rule=maxAge profile=""`)
		require.Contains(t, b.log.String(), `msg="retention has swept" trees=1 sessions=2 kept=0`)

		after(9*span + tick)
		require.Empty(t, b.ids())
	})
}

func TestRetentionByCountKeepsThoseActiveLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := keeping(t, host.RetentionRules{MaxSessions: 2})
		for _, id := range []sessions.SessionID{"a", "b", "c", "d"} {
			b.make(id, "", "")
			if id == "b" {
				b.make("child", "", "b") // no root, so it does not count
			}
			time.Sleep(time.Second)
		}
		b.say("a")
		after(tick)
		require.ElementsMatch(t, []sessions.SessionID{"a", "d"}, b.ids())
	})
}

func TestRetentionOfBlankSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := keeping(t, host.RetentionRules{BlankAfter: span})
		b.make("blank", "", "")
		b.make("used", "", "")
		b.say("used")
		b.make("blank-root", "", "")
		b.make("used-child", "", "blank-root")
		b.say("used-child")
		after(2 * span)
		require.ElementsMatch(t, []sessions.SessionID{"used", "blank-root", "used-child"}, b.ids())
	})
}

// A closed session counts from its close: neither an update nor what was before
// makes a difference.
func TestRetentionOfClosedSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := keeping(t, host.RetentionRules{MaxAge: 10 * span})
		b.make("open", "", "")
		b.make("closed", "", "")
		after(5 * span)
		_, err := b.SessionClose(t.Context(), &api.SessionCloseArgs{Address: api.Address{SessionID: "closed"}})
		require.NoError(t, err)
		after(6 * span)
		require.Equal(t, []sessions.SessionID{"closed"}, b.ids())
		after(5 * span)
		require.Empty(t, b.ids())
	})
}

// A profile's rules hold beside those of all.
func TestRetentionPerProfile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inBubble(t, host.Config{Retention: host.Retention{
			Every:          tick,
			RetentionRules: host.RetentionRules{MaxAge: 10 * span},
			Profiles:       map[string]host.RetentionRules{"other": {MaxAge: 2 * span}},
		}}, nil)
		b.make("a", "", "")
		b.make("b", "other", "")
		after(3 * span)
		require.Equal(t, []sessions.SessionID{"a"}, b.ids())
		require.Contains(t, b.log.String(), "rule=maxAge profile=other")
		after(8 * span)
		require.Empty(t, b.ids())
	})
}

func TestRetentionKeepsTreesWithAYoungChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := keeping(t, host.RetentionRules{MaxAge: 10 * span})
		b.make("root", "", "")
		b.make("child", "", "root")
		after(9 * span)
		b.say("child")
		after(5 * span)
		require.ElementsMatch(t, []sessions.SessionID{"root", "child"}, b.ids())
		require.Positive(t, b.RetentionStats().Kept)
		after(6 * span)
		require.Empty(t, b.ids())
	})
}

func TestRetentionLeavesSessionsInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inBubble(t, host.Config{Retention: host.Retention{Every: tick, RetentionRules: host.RetentionRules{MaxAge: 30 * time.Minute}}}, nil)
		b.make("busy-root", "", "")
		b.make("busy-child", "slow", "busy-root")
		b.make("watched-root", "", "")
		b.make("watched-child", "", "watched-root")
		sub, err := b.Subscribe(t.Context(), &api.SubscribeArgs{Address: api.Address{SessionID: "watched-child"}})
		require.NoError(t, err)
		running := background(func() (*api.PromptResult, error) {
			return b.Prompt(t.Context(), &api.PromptArgs{Address: api.Address{SessionID: "busy-child"}, Text: "work"}, nil)
		})
		after(59 * time.Minute)
		require.Len(t, b.ids(), 4)
		after(time.Minute)
		require.NoError(t, (<-running).err)
		sub.Close()
		after(tick)
		require.ElementsMatch(t, []sessions.SessionID{"busy-root", "busy-child"}, b.ids(), "the one was only watched, the other spoken to")
		after(30 * time.Minute)
		require.Empty(t, b.ids())
	})
}

// A sweep begins some time after the start, and does not need anything of before.
func TestRetentionGoesOnAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := keeping(t, host.RetentionRules{MaxAge: 10 * span})
		b.make("a", "", "")
		after(10*span - time.Minute)
		b.restart()
		after(tick - time.Second)
		require.Equal(t, []sessions.SessionID{"a"}, b.ids(), "not at once: its readers may be on their way back")
		after(2 * time.Second)
		require.Empty(t, b.ids())
	})
}

// failing is a store whose proposals of roots fail as often as it is told.
type failing struct {
	sessions.Store
	left int
}

func (s *failing) Retirable(ctx context.Context, q sessions.RetireQuery) (sessions.RetirePage, error) {
	if s.left > 0 {
		s.left--
		return sessions.RetirePage{}, sessions.Errorf(sessions.CodeStoreUnavailable, "No.")
	}
	return s.Store.Retirable(ctx, q)
}

func TestRetentionGoesOnAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inBubble(t, host.Config{Retention: host.Retention{Every: tick, RetentionRules: host.RetentionRules{MaxAge: time.Minute}}},
			func(s sessions.Store) sessions.Store { return &failing{s, 1} })
		b.make("a", "", "")
		after(tick)
		require.Equal(t, []sessions.SessionID{"a"}, b.ids())
		require.EqualValues(t, 1, b.RetentionStats().Failures)
		require.Contains(t, b.log.String(), "level=WARN")
		after(tick)
		require.Empty(t, b.ids())
		require.Equal(t, api.RetentionStats{Sweeps: 2, Trees: 1, Sessions: 1, Failures: 1}, b.RetentionStats())
	})
}

func TestRetentionRefusesNegativeRules(t *testing.T) {
	for _, r := range []host.Retention{
		{Every: -1}, {RetentionRules: host.RetentionRules{MaxAge: -1}}, {RetentionRules: host.RetentionRules{MaxSessions: -1}},
		{Profiles: map[string]host.RetentionRules{"p": {BlankAfter: -1}}},
	} {
		_, err := host.New(openStore(t, t.TempDir()+"/x.db"), nil, host.Config{Retention: r})
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
		require.Equal(t, "/retention", sessions.AsError(err).Details["field"])
	}
}
