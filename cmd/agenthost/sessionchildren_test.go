package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func TestChildrenHaveTheirNamesInAColumnOfTheirOwn(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, (&app{stdout: &out}).printRefs([]sessions.Ref{
		{SessionID: "a", Status: "ready", ProfileKey: "default", Name: "ada", Location: "local"},
		{SessionID: "b", Status: "ready", ProfileKey: "search", Location: "remote", Host: "east"},
	}))
	lines := strings.Split(out.String(), "\n")
	name, where := strings.Index(lines[0], "NAME"), strings.Index(lines[0], "WHERE")
	require.Equal(t, "ada", strings.TrimSpace(lines[1][name:where]))
	require.Equal(t, "local", lines[1][where:])
	require.Empty(t, strings.TrimSpace(lines[2][name:where]))
	require.Equal(t, "east", lines[2][where:])
}
