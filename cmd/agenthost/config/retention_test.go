package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/cmd/agenthost/config"
)

func TestRetentionOfTheHostAndOfProfiles(t *testing.T) {
	file := `
retention: {every: 1m, maxAge: 720h, maxSessions: 1000, blankAfter: 0}
profiles:
  default: {}
  v1.0: {system: s, retention: {maxAge: 0, maxSessions: 5, blankAfter: 1h30m}}
  none: {retention: }
`
	c := mustLoad(t, file, nil,
		config.Flag{Name: "--set", Key: "profiles.v1.0.retention.maxAge", Value: "48h"},
		config.Flag{Name: "--set", Key: "profiles.none.retention.blankAfter", Value: "0"},
		config.Flag{Name: "--set", Key: "retention.maxSessions", Value: "0"})
	require.Equal(t, config.Retention{Every: time.Minute, RetentionRules: config.RetentionRules{MaxAge: 720 * time.Hour}}, c.Retention)
	require.Equal(t, config.RetentionRules{MaxAge: 48 * time.Hour, MaxSessions: 5, BlankAfter: 90 * time.Minute}, c.Profiles["v1.0"].Retention)
	require.Zero(t, c.Profiles["default"].Retention, "the rules of all are no profile's own")
	require.Zero(t, c.Profiles["none"].Retention)
	require.Equal(t, "s", c.Profiles["v1.0"].System)

	source, origin := sourceOf(t, c, "profiles.v1.0.retention.maxAge")
	require.Equal(t, config.SourceFlag, source)
	require.Equal(t, "--set", origin)
	source, _ = sourceOf(t, c, "retention.blankAfter")
	require.Equal(t, config.SourceFile, source)
	source, _ = sourceOf(t, c, "profiles.default.retention.maxAge")
	require.Equal(t, config.SourceDefault, source)
}

func TestRetentionIsPrinted(t *testing.T) {
	c := mustLoad(t, "retention: {maxAge: 720h}", nil)
	var lines strings.Builder
	require.NoError(t, c.Print(&lines, false))
	require.Regexp(t, `(?m)^retention\.maxAge +file +720h$`, lines.String())
	require.Regexp(t, `(?m)^profiles\.default\.retention\.maxSessions +default +0$`, lines.String())
}
