package sessions_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func TestASummaryTakesThePlaceOfTheBeginning(t *testing.T) {
	history := make([]sessions.Message, 5)
	for i := range history {
		history[i] = sessions.Message{Seq: int64(i + 1), Role: sessions.RoleUser}
	}
	require.Equal(t, history, sessions.Summary{}.Over(history))

	short := sessions.Summary{ThroughSeq: 3, Text: "They met."}.Over(history)
	require.Len(t, short, 3)
	require.Equal(t, sessions.RoleUser, short[0].Role)
	require.Contains(t, sessions.TextOf(short[0].Content), "They met.")
	require.Equal(t, history[3:], short[1:])

	short = sessions.Summary{ThroughSeq: 5, KeptSeq: 2, Text: "They met."}.Over(history)
	require.Len(t, short, 2)
	require.Equal(t, history[1], short[1])
	require.Len(t, history, 5)
}

func TestASummaryMustStandForMoreThanTheOneBefore(t *testing.T) {
	before := sessions.Summary{ThroughSeq: 4}
	require.NoError(t, sessions.Summary{ThroughSeq: 5, KeptSeq: 5}.Follow(before, 5))
	require.NoError(t, sessions.Summary{ThroughSeq: 1}.Follow(sessions.Summary{}, 1))
	for _, s := range []sessions.Summary{
		{}, {ThroughSeq: 4}, {ThroughSeq: 3}, {ThroughSeq: 6}, {ThroughSeq: 5, KeptSeq: 6}, {ThroughSeq: 5, KeptSeq: -1},
	} {
		require.Equal(t, sessions.CodeInternal, sessions.CodeOf(s.Follow(before, 5)))
	}
}
