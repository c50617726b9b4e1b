package host_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

func TestUsageBySessionTreeAndOwner(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	one := sessions.Usage{InputTokens: 60, OutputTokens: 40, CachedTokens: 50, Calls: 1}
	o := scripted.New(scripted.Step{Text: "fine", Usage: &one, Repeat: true})
	h := hosttest.New(t, hosttest.Options{
		Profiles: map[string]host.Profile{sessions.DefaultProfile: {Oracle: o}},
		Config:   host.Config{Now: func() time.Time { return now }},
	})
	root, below := api.Address{SessionID: "root"}, api.Address{SessionID: "child"}
	_, err := h.SessionCreate(t.Context(), &api.SessionCreateArgs{Address: root})
	require.NoError(t, err)
	child(t, h, "child", "root", sessions.Local)
	for _, at := range []api.Address{root, below, below} {
		_, err := h.Prompt(t.Context(), &api.PromptArgs{Address: at, Text: "hello"}, nil)
		require.NoError(t, err)
	}
	two := one.Plus(one)
	usage := func(args api.UsageArgs) sessions.UsageReport {
		t.Helper()
		direct, err := h.Usage(t.Context(), &args)
		require.NoError(t, err)
		wired, err := h.Client.Usage(t.Context(), args)
		require.NoError(t, err)
		require.Equal(t, direct, wired)
		return direct.Usage
	}
	require.Equal(t, sessions.UsageReport{Usage: one}, usage(api.UsageArgs{Address: root}))
	require.Equal(t, sessions.UsageReport{Usage: two}, usage(api.UsageArgs{Address: below, By: sessions.UsageBySession}))
	require.Equal(t, sessions.UsageReport{Usage: one.Plus(two)}, usage(api.UsageArgs{Address: root, By: sessions.UsageByTree}))
	require.Equal(t, sessions.UsageReport{Usage: two}, usage(api.UsageArgs{Address: below, By: sessions.UsageByTree}))

	require.NoError(t, h.AddUsage(t.Context(), root, "search", "index", sessions.Usage{Calls: 3}))
	for _, kind := range []sessions.UsageKind{"", sessions.UsageOfSideQuestions} {
		err := h.AddUsage(t.Context(), root, kind, "", one)
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
	}
	require.Equal(t, sessions.CodeSessionNotFound, sessions.CodeOf(h.AddUsage(t.Context(), api.Address{SessionID: "nobody"}, "search", "", one)))
	kinds := map[sessions.UsageKind]sessions.Usage{"search": {Calls: 3}}
	require.Equal(t, sessions.UsageReport{Usage: one, Kinds: kinds}, usage(api.UsageArgs{Address: root}))

	_, err = h.SessionDelete(t.Context(), &api.SessionDeleteArgs{Address: root})
	require.NoError(t, err)
	today := []sessions.DayUsage{
		{Day: "2026-11-30", Model: "index", Kind: "search", Usage: sessions.Usage{Calls: 3}},
		{Day: "2026-11-30", Model: o.Name(), Usage: one.Plus(two)},
	}
	byOwner := api.UsageArgs{By: sessions.UsageByOwner}
	require.Equal(t, sessions.UsageReport{Usage: one.Plus(two), Kinds: kinds, Days: today}, usage(byOwner))
	now = now.AddDate(0, 0, api.UsageDays-1)
	require.Len(t, usage(byOwner).Days, 2)
	now = now.AddDate(0, 0, 1)
	require.Equal(t, sessions.UsageReport{Usage: one.Plus(two), Kinds: kinds}, usage(byOwner), "the sums of older days are in the total only")
}
