package sessions

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnswersFitTheKindOfTheirCall(t *testing.T) {
	output, failure := CallAnswer{Output: json.RawMessage(`null`)}, CallAnswer{Error: new(string)}
	verdict := CallAnswer{Approve: new(bool)}
	for _, a := range []CallAnswer{output, failure} {
		require.True(t, a.Answers(PendingClientTool))
		require.False(t, a.Answers(PendingApproval))
	}
	require.True(t, verdict.Answers(PendingApproval))
	require.False(t, verdict.Answers(PendingClientTool))
}

func TestNothingWaitsWhenAllIsAnswered(t *testing.T) {
	waited := WaitedCalls{Pending: []Pending{{CallID: "a"}, {CallID: "b"}}, Answers: map[CallID]CallAnswer{"a": {}}}
	require.False(t, waited.Answered())
	waited.Answers["b"] = CallAnswer{}
	require.True(t, waited.Answered())
}
