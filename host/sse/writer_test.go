package sse_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host/sse"
)

func TestEventsAreWrittenAsTheyCome(t *testing.T) {
	answer := httptest.NewRecorder()
	w := sse.NewWriter(answer, time.Second)
	require.False(t, w.Begun())
	require.Empty(t, answer.Header(), "whoever fails first may answer otherwise")
	require.NoError(t, w.Position("7"))
	require.True(t, w.Begun())
	require.True(t, answer.Flushed)
	require.NoError(t, w.Event("a", "8", []byte(`{"x":1}`)))
	require.NoError(t, w.Event("b", "", []byte(`1`)))
	require.NoError(t, w.Comment(" hello"))
	require.Equal(t, http.StatusOK, answer.Code)
	require.Equal(t, "text/event-stream", answer.Header().Get("Content-Type"))
	require.Equal(t, "no-store", answer.Header().Get("Cache-Control"))
	require.Equal(t, "id: 7\n\nevent: a\nid: 8\ndata: {\"x\":1}\n\nevent: b\ndata: 1\n\n: hello\n\n", answer.Body.String())
}

// broken is a connection that takes so many writes.
type broken struct {
	*httptest.ResponseRecorder
	left int
}

var errBroken = errors.New("broken")

func (b *broken) Write(p []byte) (int, error) {
	if b.left--; b.left < 0 {
		return 0, errBroken
	}
	return b.ResponseRecorder.Write(p)
}

func TestNothingIsWrittenBehindAWriteThatFailed(t *testing.T) {
	answer := &broken{httptest.NewRecorder(), 1}
	w := sse.NewWriter(answer, time.Second)
	require.NoError(t, w.Comment(""))
	require.ErrorIs(t, w.Event("a", "", []byte("1")), errBroken)
	answer.left = 5
	require.ErrorIs(t, w.Comment(""), errBroken)
	require.Equal(t, ":\n\n", answer.Body.String())
}

func TestAStreamIsKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := &broken{httptest.NewRecorder(), 4}
		w := sse.NewWriter(answer, time.Second)
		var lost bool
		var group sync.WaitGroup
		group.Go(func() { w.KeepAlive(t.Context(), time.Minute, " still", func() { lost = true }) })
		time.Sleep(150 * time.Second)
		synctest.Wait()
		require.Empty(t, answer.Body.String(), "it has not begun")
		require.NoError(t, w.Event("a", "", []byte("1")))
		time.Sleep(time.Hour)
		group.Wait()
		require.True(t, lost, "the connection broke")
		require.Equal(t, "event: a\ndata: 1\n\n: still\n\n: still\n\n: still\n\n", answer.Body.String())
	})
}

func TestKeepingAliveEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			sse.NewWriter(httptest.NewRecorder(), time.Second).KeepAlive(ctx, time.Minute, "", func() { t.Error("nothing was lost") })
		})
		cancel()
		group.Wait()
	})
}
