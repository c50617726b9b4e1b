package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"agenthost/cmd/agenthost/config"
)

const printed = `
oracles: {main: {provider: openai, model: m, apiKeyEnv: MAIN_KEY}}
profiles:
  default: {system: "Answer at length, with examples, with sources, and <never> in\nverse of any kind."}
`

func TestPrintText(t *testing.T) {
	c := mustLoad(t, printed, []string{"MAIN_KEY=hush"}, config.Flag{Name: "--listen", Key: "listen", Value: "127.0.0.1:3"})
	var out bytes.Buffer
	require.NoError(t, c.Print(&out, false))
	require.Regexp(t, `(?m)^# file: agenthost\.yaml$`, out.String())
	require.Regexp(t, `(?m)^listen +flag +127\.0\.0\.1:3$`, out.String())
	require.Regexp(t, `(?m)^profiles\.default\.tools +default +\[\{target\}, /builtin\]$`, out.String())
	require.Regexp(t, `(?m)^oracles\.main\.apiKeyEnv +file +MAIN_KEY$`, out.String())
	require.Regexp(t, `(?m)^limits\.messageBytes +default +1048576$`, out.String())
	require.Regexp(t, `(?m)^profiles\.default\.system +file +Answer at .*…$`, out.String())
	require.NotContains(t, out.String(), "hush")
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 80, line)
	}
}

func TestPrintJSON(t *testing.T) {
	c := mustLoad(t, printed, []string{"MAIN_KEY=hush"})
	var out bytes.Buffer
	require.NoError(t, c.Print(&out, true))
	require.NotContains(t, out.String(), "hush")
	require.Equal(t, 1, strings.Count(out.String(), "\n"), "one JSON value on one line")
	var got struct {
		File     string
		Settings map[string]struct {
			Value          any
			Source, Origin string
		}
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	require.Equal(t, "agenthost.yaml", got.File)
	require.Len(t, got.Settings, len(c.Values()))
	require.Equal(t, "10m", got.Settings["idleTTL"].Value)
	require.Equal(t, "default", got.Settings["idleTTL"].Source)
	require.Equal(t, "Answer at length, with examples, with sources, and <never> in\nverse of any kind.", got.Settings["profiles.default.system"].Value)
	require.Equal(t, "file", got.Settings["profiles.default.system"].Source)
	require.Equal(t, "agenthost.yaml", got.Settings["profiles.default.system"].Origin)
	require.InDelta(t, 25, got.Settings["profiles.default.maxIterations"].Value, 0)
}

type brokenWriter struct{}

var errBroken = errors.New("broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestPrintReportsWriteErrors(t *testing.T) {
	c := mustLoad(t, "", nil)
	require.ErrorIs(t, c.Print(brokenWriter{}, false), errBroken)
	require.ErrorIs(t, c.Print(brokenWriter{}, true), errBroken)
}

func TestSecretsAreMaskedEverywhere(t *testing.T) {
	c := mustLoad(t, printed, []string{"MAIN_KEY=hush"})
	require.Equal(t, "hush", c.Oracles["main"].APIKey.Reveal())
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("loaded", "key", c.Oracles["main"].APIKey, "config", c)
	asJSON, err := json.Marshal(c)
	require.NoError(t, err)
	out.Write(asJSON)
	fmt.Fprintf(&out, "%v %+v %#v %s", c.Oracles, *c, c.Oracles["main"], c.Oracles["main"].APIKey)
	require.NotContains(t, out.String(), "hush")
	require.Contains(t, out.String(), "****")
	require.Empty(t, config.Secret("").String(), "no key looks like no key")
}
