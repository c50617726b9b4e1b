package sessions_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func TestMessagesHaveTheTurnAndTheTimeOfTheirCommit(t *testing.T) {
	c := sessions.CommitTurn{TurnID: "t", Now: 7}
	bare := sessions.Message{Role: sessions.RoleAssistant, Content: sessions.Text("hi")}
	require.Equal(t, sessions.Message{Role: sessions.RoleAssistant, Content: bare.Content, TurnID: "t", CreatedAt: 7}, c.Completed(bare))
	own := sessions.Message{Role: sessions.RoleUser, TurnID: "u", CreatedAt: 3}
	require.Equal(t, own, c.Completed(own))
}
