package config_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func TestWhatMakesTurnsWait(t *testing.T) {
	c := mustLoad(t, `
profiles:
  default:
    needsApproval: [/mcp/files/write]
    waitTimeout: 1h
    clientTools:
      - {path: /client/pick, description: Lets the user pick., schema: {type: object, properties: {from: {type: array}}}}
      - {path: /client/look, description: Looks.}
  plain:
`, []string{`AGENTHOST_PROFILES_PLAIN_CLIENT_TOOLS=[{"path":"/client/look","description":"Looks."}]`})
	p := c.Profiles["default"]
	require.Equal(t, []string{"/mcp/files/write"}, p.NeedsApproval)
	require.Equal(t, time.Hour, p.WaitTimeout)
	require.Equal(t, []sessions.ClientTool{
		{Path: "/client/pick", Description: "Lets the user pick.", Schema: json.RawMessage(`{"properties":{"from":{"type":"array"}},"type":"object"}`)},
		{Path: "/client/look", Description: "Looks."},
	}, p.ClientToolList())
	require.Equal(t, []sessions.ClientTool{{Path: "/client/look", Description: "Looks."}}, c.Profiles["plain"].ClientToolList())
	require.Zero(t, c.Profiles["plain"].WaitTimeout)
}

func TestClientToolsThatAreNone(t *testing.T) {
	for value, says := range map[string]string{
		`{path: /a}`:                           "must be a list of tools",
		`[{path: /a, run: b}]`:                 "must be a list of tools",
		`[/a]`:                                 "must be a list of tools",
		`[{path: "/a/../b", description: x}]`:  "cannot be used",
		`[{path: /a, schema: {type: string}}]`: "cannot be used",
		`[{path: /a}, {path: /a}]`:             "choose another path",
	} {
		_, err := load(t, "profiles: {default: {clientTools: "+value+"}}", nil)
		require.ErrorContains(t, err, says, value)
	}
}
