package story

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"agenthost/tools/mcp/mcptest"
)

// serverEnv makes the test binary an MCP server.
const serverEnv = "STORY_MCP_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serverEnv) != "" {
		os.Exit(mcptest.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) //nolint:forbidigo // the main of a program
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}
