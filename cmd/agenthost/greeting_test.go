package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"agenthost/cmd/agenthost/config"
)

func TestQuotedTextIsOneWordOfAShell(t *testing.T) {
	for _, text := range []string{
		"", "plain", "two words", "/call builtin/time {}", `say "hi"`, "it's", "$HOME", "`ls`", `back\slash`, "!!", "a\nb", "ümlaut", "#", "~", "a;b",
	} {
		out, err := exec.Command("sh", "-c", "printf %s "+shellQuote(text)).Output()
		require.NoError(t, err, text)
		require.Equal(t, text, string(out))
	}
	require.Equal(t, "plain", shellQuote("plain"))
}

func TestProgramsOfGoRunAreTold(t *testing.T) {
	for path, want := range map[string]bool{
		"/tmp/go-build3105672/b001/exe/agenthost":                                true,
		"/root/.cache/go-build/02/02" + strings.Repeat("a", 62) + "-d/agenthost": true,
		"/elsewhere/02/02" + strings.Repeat("a", 62) + "-d/agenthost":            true,
		"/usr/local/bin/agenthost":                                               false,
		"/home/me/go/bin/agenthost":                                              false,
		"/home/me/agenthost/bin/agenthost":                                       false,
	} {
		require.Equal(t, want, builtByGoRun(path), path)
	}
}

func TestTheOracleThatNobodyChoseIsNamed(t *testing.T) {
	offline := map[string]config.Oracle{"offline": {Provider: config.ProviderOffline}}
	require.Equal(t, "offline", oracleText(&config.Config{Oracles: offline}, "offline"))
	require.Contains(t, oracleText(&config.Config{Oracles: offline, Picked: "offline"}, "offline"), "no model is configured")
	openai := map[string]config.Oracle{"openai": {Provider: config.ProviderOpenAI}}
	require.Equal(t, "openai:m, picked by the environment", oracleText(&config.Config{Oracles: openai, Picked: "openai"}, "openai:m"))
}

func TestTheFirstProfileIsTheDefaultOne(t *testing.T) {
	c := &config.Config{
		Profiles: map[string]config.Profile{"b": {Oracle: "x"}, "a b": {Oracle: "y"}},
		Oracles:  map[string]config.Oracle{"y": {Provider: config.ProviderScripted}},
	}
	name, oracle := firstProfile(c)
	require.Equal(t, "a b", name)
	require.Equal(t, config.ProviderScripted, oracle.Provider)
	require.Equal(t, ` --profile "a b"`, profileFlag(name))
	c.Profiles["default"] = config.Profile{Oracle: "x"}
	name, _ = firstProfile(c)
	require.Equal(t, "default", name)
	require.Empty(t, profileFlag(name))
}

func TestTablesFitTheirWidth(t *testing.T) {
	var out bytes.Buffer
	var table table
	table.add("A", "B", "C")
	table.add(strings.Repeat("ä", 30), "x", strings.Repeat("long ", 40))
	table.add("y", "", "z\nz")
	require.NoError(t, table.write(&out))
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	require.Len(t, lines, 3)
	for _, line := range lines {
		require.LessOrEqual(t, utf8.RuneCountInString(line), tableWidth, line)
	}
	require.Equal(t, tableWidth, utf8.RuneCountInString(lines[1]))
	require.True(t, strings.HasSuffix(lines[2], "z z"))
}

func TestAHostOnAllAddressesIsReachedOnThisMachine(t *testing.T) {
	for address, want := range map[string]string{
		"0.0.0.0:7777": "127.0.0.1:7777", "[::]:1": "127.0.0.1:1", ":2": "127.0.0.1:2",
		"192.0.2.1:7777": "192.0.2.1:7777", "[::1]:7777": "[::1]:7777", "box.example:7777": "box.example:7777", "odd": "odd",
	} {
		require.Equal(t, want, reachable(address), address)
	}
}

func TestWithoutKeysOnlyThisMachineIsListenedTo(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "127.8.9.10:0", "[::1]:0", "localhost:0"} {
		at, err := resolve(address)
		require.NoError(t, err, address)
		require.NoError(t, checkReach(address, at, false), address)
	}
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0", "[2001:db8::1]:0"} {
		at, err := resolve(address)
		require.NoError(t, err, address)
		require.ErrorContains(t, checkReach(address, at, false), "INVALID_REQUEST: The host has no keys", address)
		require.NoError(t, checkReach(address, at, true), address)
	}
}
