package requestlog_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"agenthost/oracle/requestlog"
)

func TestRequestsComeInTheirOrder(t *testing.T) {
	var log requestlog.Log[string]
	require.Empty(t, log.Requests())
	require.NoError(t, log.Await(t.Context(), 0))
	require.Equal(t, 0, log.Add("a"))
	require.Equal(t, 1, log.Add("b"))
	seen := log.Requests()
	log.Add("c")
	require.Equal(t, []string{"a", "b"}, seen)
	require.Equal(t, []string{"a", "b", "c"}, log.Requests())
	require.NoError(t, log.Await(t.Context(), 3))
}

func TestAwaitReturnsWithTheRequestOrTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log requestlog.Log[int]
		done := make(chan error, 3)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { done <- log.Await(t.Context(), 2) }()
		go func() { done <- log.Await(t.Context(), 2) }()
		go func() { done <- log.Await(ctx, 9) }()
		log.Add(1)
		synctest.Wait()
		require.Empty(t, done)
		log.Add(2)
		require.NoError(t, <-done)
		require.NoError(t, <-done)
		synctest.Wait()
		require.Empty(t, done)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
}
