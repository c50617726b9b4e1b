package adaptertest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/oracle"
	"agenthost/oracle/provider/providertest"
)

// hanging is a stream that goes on without an end, and gone is closed when its
// client has left.
func hanging(events []string) (r providertest.Reply, gone <-chan struct{}) {
	left := make(chan struct{})
	r = providertest.Stream(events...)
	r.End, r.OnGone = providertest.Hang, func() { close(left) }
	return r, left
}

func testContextEndsCall(t *testing.T, a Adapter) {
	for name, events := range map[string][]string{"before text": nil, "after text": slices.Concat(a.Start, a.Say("some"))} {
		reply, gone := hanging(events)
		server := a.Server(t, reply)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan Answer)
		o := a.Oracle(t, server, nil)
		go func() { ended <- Infer(ctx, o, Hi()) }()
		require.NoError(t, server.Await(t.Context(), 1), name)
		cancel()
		require.ErrorIs(t, (<-ended).Err, context.Canceled, name)
		<-gone
	}
}

func testBreakingOff(t *testing.T, a Adapter) {
	reply, gone := hanging(slices.Concat(a.Start, a.Say("some")))
	for part, err := range a.Oracle(t, a.Server(t, reply), nil).Infer(t.Context(), Hi()) {
		require.NoError(t, err)
		require.Equal(t, oracle.TextDelta{Text: "some"}, part)
		break
	}
	<-gone
}

// A model that never ends its calls would fill the memory before any bound of
// the host could see them.
func testTooManyBytes(t *testing.T, a Adapter) {
	long := slices.Concat(a.Start, []string{a.Call(0)}, slices.Repeat([]string{a.Args(0, strings.Repeat("z", 1<<20))}, 17))
	many := slices.Clone(a.Start)
	for i := range 17 << 10 {
		many = append(many, a.Call(i))
	}
	for name, events := range map[string][]string{"long arguments": long, "many calls": many} {
		reply, _ := hanging(events)
		got, server := a.Ask(t, reply)
		got.RequireFailure(t, "bytes")
		require.Empty(t, got.Calls, name)
		require.Len(t, server.Requests(), 1, name)
	}
}
