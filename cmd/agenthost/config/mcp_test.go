package config_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/cmd/agenthost/config"
)

func TestMCPServers(t *testing.T) {
	c := mustLoad(t, `
mcp:
  files: {command: [mcp-server-files, /data], env: [TOKEN, EMPTY]}
  web: {url: "https://web.example/mcp", keyEnv: WEB_KEY, mount: /web}
`, []string{"TOKEN=hunter2", "EMPTY=", "WEB_KEY=hunter3", "AGENTHOST_MCP_FILES_MOUNT=/files"})
	require.Equal(t, map[string]config.MCPServer{
		"files": {
			Command: []string{"mcp-server-files", "/data"}, Mount: "/files", Env: []string{"TOKEN", "EMPTY"},
			Values: map[string]config.Secret{"TOKEN": "hunter2", "EMPTY": ""},
		},
		"web": {URL: "https://web.example/mcp", Mount: "/web", KeyEnv: "WEB_KEY", Key: "hunter3", Values: map[string]config.Secret{}},
	}, c.MCP)
	var printed bytes.Buffer
	require.NoError(t, c.Print(&printed, false))
	require.NotContains(t, printed.String(), "hunter")
	require.Contains(t, printed.String(), "mcp.files.command")

	require.Equal(t, "/mcp/files", mustLoad(t, "mcp: {files: {command: [x]}}", nil).MCP["files"].Mount)
}

func TestMCPServerErrors(t *testing.T) {
	for name, test := range map[string]struct{ server, want string }{
		"neither":        {"a: {}", "mcp.a: an MCP server needs command or url, and not both."},
		"both":           {"a: {command: [x], url: 'http://x'}", "mcp.a: an MCP server needs command or url"},
		"no program":     {"a: {command: ['']}", "mcp.a.command: the command begins with a program."},
		"text":           {"a: {command: x}", "mcp.a.command must be a list"},
		"no URL":         {"a: {url: nowhere}", "mcp.a.url must be a URL"},
		"user":           {"a: {url: 'http://u:hunter2@x'}", "mcp.a.url must hold no user or password"},
		"key of program": {"a: {command: [x], keyEnv: SET}", "keyEnv is for servers with url only"},
		"env of URL":     {"a: {url: 'http://x', env: [SET]}", "env is for servers with command only"},
		"unset key":      {"a: {url: 'http://x', keyEnv: UNSET}", "mcp.a.keyEnv: the environment variable UNSET is not set."},
		"unset variable": {"a: {command: [x], env: [UNSET]}", "mcp.a.env: the environment variable UNSET is not set."},
		"value":          {"a: {command: [x], env: ['KEY=hunter2']}", "mcp.a.env must list names of environment variables"},
		"no path":        {"a: {command: [x], mount: mcp}", `mcp.a.mount is "mcp", but must be a path`},
		"odd name":       {"'a%': {command: [x]}", "mcp.a%: the name cannot be part of a path, so the server needs mount."},
		"unknown":        {"a: {comand: [x]}", `no setting "mcp.a.comand"; the nearest is "mcp.a.command"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, "mcp: {"+test.server+"}", []string{"SET=1"})
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}
