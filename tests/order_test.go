package tests

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/sessions"
)

// setClock is a clock that stands where it is set.
type setClock struct{ ms atomic.Int64 }

func (c *setClock) set(at time.Time)    { c.ms.Store(at.UnixMilli()) }
func (c *setClock) now() time.Time      { return time.UnixMilli(c.ms.Load()).UTC() }
func (c *setClock) add(d time.Duration) { c.ms.Add(d.Milliseconds()) }

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

// requireInOrder requires that messages and frames of a key are numbered from 1
// without gaps and that its user messages are those given, in order.
func requireInOrder(t *testing.T, h *hosttest.Host, key string, said ...string) {
	t.Helper()
	at := api.Address{TargetKey: key}
	page, err := h.Messages(t.Context(), &api.MessagesArgs{Address: at, Limit: new(1000)})
	require.NoError(t, err)
	var texts []string
	for i, m := range page.Messages {
		require.EqualValues(t, i+1, m.Seq)
		if m.Role == sessions.RoleUser {
			texts = append(texts, sessions.TextOf(m.Content))
		}
	}
	require.Equal(t, said, texts)
	frames, err := h.Frames(t.Context(), &api.FramesArgs{Address: at, Limit: new(1000)})
	require.NoError(t, err)
	for i, f := range frames.Frames {
		require.EqualValues(t, i+1, f.Seq)
	}
}

func TestCase43ClockSetBackBetweenTurns(t *testing.T) {
	var clock *setClock
	options := func() hosttest.Options {
		clock = &setClock{}
		clock.set(noon)
		o := newBench().options(t, host.Profile{})
		o.Config.Now = clock.now
		return o
	}
	throughEveryDoor(t, options, func(h *hosttest.Host, call caller) {
		t := call.t
		// Ids that sort, and claim to be made, long before and after each other.
		ids := []sessions.RequestID{
			"ffffffff-ffff-7fff-bfff-ffffffffffff", "00000000-0000-7000-8000-000000000000",
			"2999-01-01T00:00:00Z", "1970-01-01T00:00:00Z",
		}
		said := []string{"one", "two", "three", "four"}
		for i, id := range ids {
			reply := call.call(api.OpPrompt, api.PromptArgs{Address: api.Address{TargetKey: "k"}, Text: said[i], RequestID: id})
			require.Empty(t, hosttest.Code(reply))
			clock.add(-time.Hour)
		}
		requireInOrder(t, h, "k", said...)
		turns := turnsOf(t, h)
		require.Len(t, turns, 4)
		for i, turn := range turns {
			require.Equal(t, ids[3-i], turn.RequestID, "turns come newest first, by sequence")
			require.GreaterOrEqual(t, turn.EndedAt.Sub(turn.StartedAt), time.Duration(0))
		}
		h.Restart()
		requireInOrder(t, h, "k", said...)
	})
}

func TestCase43SessionsWithClientIDsFromPastAndFuture(t *testing.T) {
	clock := &setClock{}
	clock.set(noon)
	o := newBench().options(t, host.Profile{})
	o.Config.Now = clock.now
	h := hosttest.New(t, o)
	for _, id := range []sessions.SessionID{"ffffffff-ffff-7fff-bfff-ffffffffffff", "00000000-0000-7000-8000-000000000000", "0000"} {
		created, err := h.SessionCreate(t.Context(), &api.SessionCreateArgs{Address: api.Address{SessionID: id}})
		require.NoError(t, err)
		require.True(t, created.Created)
		clock.add(time.Minute)
	}
	var walked []sessions.SessionID
	for cursor := ""; ; {
		page, err := h.SessionList(t.Context(), &api.SessionListArgs{Limit: new(1), Cursor: cursor})
		require.NoError(t, err)
		for _, s := range page.Sessions {
			walked = append(walked, s.ID)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	require.Equal(t, []sessions.SessionID{"0000", "00000000-0000-7000-8000-000000000000", "ffffffff-ffff-7fff-bfff-ffffffffffff"}, walked)
}

func TestCase44MessagesWithinOneMillisecond(t *testing.T) {
	var clock *setClock
	options := func() hosttest.Options {
		clock = &setClock{}
		clock.set(noon)
		o := newBench().options(t, host.Profile{})
		o.Config.Now = clock.now
		return o
	}
	throughEveryDoor(t, options, func(h *hosttest.Host, call caller) {
		t := call.t
		said := []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}
		for _, text := range said {
			call.mustPrompt("k", text)
		}
		requireInOrder(t, h, "k", said...)
		h.Restart()
		call.mustPrompt("other", "hello")
		requireInOrder(t, h, "k", said...)
	})
}
