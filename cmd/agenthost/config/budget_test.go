package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/cmd/agenthost/config"
)

func TestBudgets(t *testing.T) {
	c := mustLoad(t, `
ownerDayTokens: 1000000
profiles:
  careful: {budget: {turnTokens: 50000}}
`, []string{"AGENTHOST_PROFILES_CAREFUL_BUDGET_SESSION_TOKENS=90000"})
	require.EqualValues(t, 1_000_000, c.OwnerDayTokens)
	require.Equal(t, config.Budget{TurnTokens: 50_000, SessionTokens: 90_000}, c.Profiles["careful"].Budget)

	c = mustLoad(t, "", nil)
	require.Zero(t, c.OwnerDayTokens)
	require.Zero(t, c.Profiles["default"].Budget)
}
