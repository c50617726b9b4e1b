package config

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The documentation has a row for every setting, with its default.
func TestSettingsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/operations.md")
	require.NoError(t, err)
	rows := map[string][]string{} // by setting, one per place that has it
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) > 3 && strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			name := strings.Trim(strings.TrimSpace(cells[1]), "`")
			rows[name] = append(rows[name], strings.Trim(strings.TrimSpace(cells[2]), "`"))
		}
	}
	known := map[string]bool{}
	for _, s := range settings {
		known[s.field] = true
		require.NotEmpty(t, rows[s.field], "%s.%s has no row", s.section, s.field)
		switch fallback := s.fallback.(type) {
		case string, int64:
			require.Contains(t, rows[s.field], fmt.Sprint(fallback), "the default of %s.%s", s.section, s.field)
		}
	}
	for name := range rows {
		require.True(t, known[name], "the documentation has %s, which is no setting", name)
	}
}

func TestVariablesAreDistinct(t *testing.T) {
	variables := map[string]bool{}
	for _, s := range settings {
		name := fmt.Sprintf("%s/%s", s.section, environmentName(s.field))
		require.False(t, variables[name], name)
		variables[name] = true
	}
	require.Equal(t, "IDLE_TTL", environmentName("idleTTL"))
	require.Equal(t, "BASE_URL", environmentName("baseURL"))
	require.Equal(t, "API_KEY_ENV", environmentName("apiKeyEnv"))
	require.Equal(t, "GPT_4_1", environmentName("gpt-4.1"))
}
