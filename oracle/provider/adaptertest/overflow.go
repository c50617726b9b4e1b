package adaptertest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/oracle"
	"agenthost/oracle/provider/providertest"
)

func testOverflow(t *testing.T, a Adapter) {
	require.NotEmpty(t, a.TooLong)
	for name, body := range a.TooLong {
		got, server := a.Ask(t, providertest.JSON(400, body))
		got.requireOverflow(t, name)
		require.Len(t, server.Requests(), 1, name)
	}
	got, server := a.Ask(t, providertest.JSON(413, `<html>Request Entity Too Large</html>`))
	got.requireOverflow(t, "413")
	require.Len(t, server.Requests(), 1)
	for name, event := range a.TooLongEvents {
		got, _ := a.Ask(t, providertest.Stream(slices.Concat(a.Start, []string{event})...))
		got.requireOverflow(t, name)
		got, _ = a.Ask(t, providertest.Stream(slices.Concat(a.Start, a.Say("some"), []string{event})...))
		got.requireOverflow(t, name)
		require.Equal(t, "some", got.Text, name)
	}
	got, _ = a.Ask(t, a.API.Failure(400, "The image is too large."))
	got.RequireFailure(t, "The image is too large.")
	require.NotErrorIs(t, got.Err, oracle.ErrOverflow, "another refusal")
}

func (a Answer) requireOverflow(t *testing.T, name string) {
	t.Helper()
	a.RequireFailure(t, "")
	require.ErrorIs(t, a.Err, oracle.ErrOverflow, name)
}
