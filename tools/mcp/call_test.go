package mcp_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
	"agenthost/tools"
	"agenthost/tools/mcp"
	"agenthost/tools/mcp/mcptest"
)

func TestToolsAreMountedAsTheServerDescribesThem(t *testing.T) {
	for name, server := range both(t) {
		t.Run(name, func(t *testing.T) {
			b := start(t, quick, server)
			require.Empty(t, b.servers.Missing())
			require.Equal(t, []string{
				"/mcp/test/add", "/mcp/test/child", "/mcp/test/die", "/mcp/test/echo", "/mcp/test/environment",
				"/mcp/test/fail", "/mcp/test/odd _name", "/mcp/test/picture", "/mcp/test/pid", "/mcp/test/refuse",
				"/mcp/test/remove", "/mcp/test/retry/die", "/mcp/test/structured", "/mcp/test/wait",
			}, b.paths(), "one tool has a schema that cannot be used")
			require.Contains(t, b.log.String(), `a tool of the MCP server is left out`)
			require.Contains(t, b.log.String(), `elsewhere`)

			echo, _ := b.tree.Lookup("/mcp/test/echo")
			require.Equal(t, "The tool echo.", echo.Spec.Description)
			require.JSONEq(t, `{"type":"object","properties":{"text":{"type":"string"},"file":{"type":"string"}}}`, string(echo.Spec.Schema))
			require.False(t, echo.Spec.Repeatable)
			die, _ := b.tree.Lookup("/mcp/test/retry/die")
			require.True(t, die.Spec.Repeatable)
		})
	}
}

func TestResultsBecomeOutputs(t *testing.T) {
	for name, server := range both(t) {
		t.Run(name, func(t *testing.T) {
			b := start(t, quick, server)
			for path, want := range map[string]string{
				"/mcp/test/echo":       `"<a> & \"b\""`,
				"/mcp/test/structured": mcptest.Structured,
				"/mcp/test/picture":    `"Look:\n[One image of the type image/png and 5 bytes is left out; only text is carried.]"`,
				"/mcp/test/odd _name":  `"odd"`,
			} {
				got, err := b.call(t.Context(), path, argsOf("text", `<a> & "b"`))
				require.NoError(t, err)
				require.Equal(t, want, got, path)
			}

			_, err := b.call(t.Context(), "/mcp/test/fail", argsOf("text", "There is no such file."))
			var failure *tools.Failure
			require.ErrorAs(t, err, &failure)
			require.Equal(t, "There is no such file.", failure.Message)

			_, err = b.call(t.Context(), "/mcp/test/refuse", `{}`)
			require.Equal(t, sessions.CodeToolInvokeFailed, sessions.AsError(err).Code)
			require.NotContains(t, sessions.AsError(err).Message, "secret", "what the server says is for the log")
			require.ErrorContains(t, sessions.AsError(err).Cause, "secret")
		})
	}
}

func TestCallsRunSideBySide(t *testing.T) {
	for name, server := range both(t) {
		t.Run(name, func(t *testing.T) {
			b := start(t, quick, server)
			ctx, cancel := context.WithCancel(t.Context())
			file := filepath.Join(t.TempDir(), "call")
			var calls sync.WaitGroup
			calls.Go(func() { _, _ = b.call(ctx, "/mcp/test/wait", argsOf("file", file)) })
			b.exists(file + ".began")
			for i := range 20 {
				calls.Go(func() {
					got, err := b.call(t.Context(), "/mcp/test/echo", argsOf("text", strconv.Itoa(i)))
					require.NoError(t, err)
					require.Equal(t, strconv.Quote(strconv.Itoa(i)), got)
				})
			}
			require.Equal(t, "last", b.text("/mcp/test/echo", argsOf("text", "last")))
			cancel()
			calls.Wait()
		})
	}
}

func TestCancelReachesTheServer(t *testing.T) {
	for name, server := range both(t) {
		t.Run(name, func(t *testing.T) {
			b := start(t, quick, server)
			ctx, cancel := context.WithCancelCause(t.Context())
			file := filepath.Join(t.TempDir(), "call")
			ended := make(chan error, 1)
			go func() {
				_, err := b.call(ctx, "/mcp/test/wait", argsOf("file", file))
				ended <- err
			}()
			b.exists(file + ".began")
			cause := sessions.Errorf(sessions.CodeCancelled, "Enough.")
			cancel(cause)
			require.ErrorIs(t, <-ended, cause)
			b.exists(file + ".cancelled")
			require.Equal(t, "on", b.text("/mcp/test/echo", argsOf("text", "on")))
		})
	}
}

func TestChangesOfTheListAreFollowed(t *testing.T) {
	for name, server := range both(t) {
		t.Run(name, func(t *testing.T) {
			b := start(t, quick, server)
			before, _ := b.tree.Lookup("/mcp/test/echo")
			b.text("/mcp/test/add", argsOf("text", "new"))
			b.mounts("/mcp/test/new", true)
			require.Equal(t, "added", b.text("/mcp/test/new", `{}`))
			b.text("/mcp/test/remove", argsOf("text", "new"))
			b.mounts("/mcp/test/new", false)
			after, _ := b.tree.Lookup("/mcp/test/echo")
			require.Same(t, before, after, "what did not change stays mounted")
		})
	}
}

func TestSecondServerAtAPathIsLeftOut(t *testing.T) {
	first, second := program(), program()
	second.Name = "second"
	b := start(t, quick, first)
	other, err := mcp.Start(b.tree, []mcp.Server{second}, mcp.Config{Logger: slog.New(slog.NewTextHandler(b.log, nil))})
	require.NoError(t, err)
	other.Settle(t.Context())
	require.Contains(t, b.log.String(), `a tool of the MCP server is left out" mcp=second tool=echo error="CONFLICT: A tool is mounted at /mcp/test/echo already`)
	before := b.text("/mcp/test/pid", `{}`)
	other.Stop()
	require.Equal(t, before, b.text("/mcp/test/pid", `{}`), "the first one's tools stay")
}

func TestServerGetsNoVariablesButItsOwn(t *testing.T) {
	t.Setenv("MCPTEST_SECRET", "hunter2")
	server := program()
	server.Env = append(server.Env, "TOKEN=mine")
	b := start(t, quick, server)
	environment := strings.Split(b.text("/mcp/test/environment", `{}`), "\n")
	require.Contains(t, environment, "TOKEN=mine")
	require.NotContains(t, strings.Join(environment, "\n"), "hunter2")
	require.Contains(t, strings.Join(environment, "\n"), "PATH=")
	require.NotContains(t, b.log.String(), "TOKEN")
}

func TestServersAreChecked(t *testing.T) {
	for name, server := range map[string]mcp.Server{
		"neither": {Name: "a", Mount: "/mcp/a"},
		"both":    {Name: "a", Mount: "/mcp/a", Command: []string{"true"}, URL: "http://127.0.0.1"},
		"path":    {Name: "a", Mount: "mcp/a/", Command: []string{"true"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := mcp.Start(&tools.Tree{}, []mcp.Server{server}, mcp.Config{})
			require.Equal(t, sessions.CodeInvalidRequest, sessions.AsError(err).Code)
		})
	}
}
