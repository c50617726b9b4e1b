package sessions_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func TestUsageIsReportedByKindAndDay(t *testing.T) {
	one, two := sessions.Usage{InputTokens: 1, Calls: 1}, sessions.Usage{OutputTokens: 2, Calls: 2}
	sums := []sessions.UsageSum{
		{Day: 20_000, Model: "b", Usage: one},
		{Day: 20_001, Model: "b", Usage: two},
		{Day: 20_001, Model: "a", Kind: "search", Usage: one},
		{Day: 20_001, Model: "a", Kind: sessions.UsageOfSideQuestions, Usage: two},
	}
	r := sessions.ReportUsage(sums)
	require.Equal(t, sessions.UsageReport{Usage: one.Plus(two), SideQuestions: two,
		Kinds: map[sessions.UsageKind]sessions.Usage{"search": one}}, r)
	newest := []sessions.DayUsage{
		{Day: "2024-10-05", Model: "a", Kind: "search", Usage: one},
		{Day: "2024-10-05", Model: "a", Kind: "sideQuestions", Usage: two},
		{Day: "2024-10-05", Model: "b", Usage: two},
	}
	const dayMs = 86_400_000
	require.Equal(t, newest, sessions.UsageDays(sums, 20_001*dayMs))
	require.Equal(t, newest, sessions.UsageDays(sums, 20_002*dayMs-1))
	require.Equal(t, append(newest, sessions.DayUsage{Day: "2024-10-04", Model: "b", Usage: one}), sessions.UsageDays(sums, 0))
	require.Empty(t, sessions.UsageDays(sums, 20_002*dayMs))

	text, err := json.Marshal(sessions.ReportUsage(nil))
	require.NoError(t, err)
	require.JSONEq(t, `{"inputTokens":0,"outputTokens":0,"cachedTokens":0,"calls":0,
        "sideQuestions":{"inputTokens":0,"outputTokens":0,"cachedTokens":0,"calls":0}}`, string(text))
}

func TestUsageToAddIsChecked(t *testing.T) {
	for _, kind := range []sessions.UsageKind{"search", "a/b:c", sessions.UsageOfSideQuestions, sessions.UsageKind(strings.Repeat("k", 64))} {
		require.NoError(t, sessions.AddUsage{Kind: kind, Usage: sessions.Usage{InputTokens: 1 << 40}}.Check())
	}
	for _, kind := range []sessions.UsageKind{"", "two words", "é", "tab\t", sessions.UsageKind(strings.Repeat("k", 65))} {
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(sessions.AddUsage{Kind: kind}.Check()), "%q", kind)
	}
	foreign := func(kind sessions.UsageKind) sessions.Code {
		return sessions.CodeOf(sessions.AddUsage{Kind: kind}.CheckForeign())
	}
	require.Empty(t, foreign("search"))
	require.Equal(t, sessions.CodeInvalidRequest, foreign(""))
	require.Equal(t, sessions.CodeInvalidRequest, foreign(sessions.UsageOfSideQuestions))
	for _, u := range []sessions.Usage{{InputTokens: -1}, {OutputTokens: -1}, {CachedTokens: -1}, {Calls: 1<<40 + 1}} {
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(sessions.AddUsage{Kind: "k", Usage: u}.Check()))
	}
}
