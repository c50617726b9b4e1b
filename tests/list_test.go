package tests

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/sessions"
)

// makeMany makes sessions side by side, as many as there are arguments.
func makeMany(t *testing.T, h *hosttest.Host, n int, args func(i int) api.SessionCreateArgs) {
	t.Helper()
	const makers = 64
	failed := make(chan error, makers)
	var all sync.WaitGroup
	for m := range makers {
		all.Go(func() {
			for i := m; i < n; i += makers {
				a := args(i)
				if _, err := h.SessionCreate(t.Context(), &a); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(failed)
	for err := range failed {
		require.NoError(t, err)
	}
}

// A filter comes before the limit: children do not use up the page of those who
// ask for roots.
func TestCase47RootsAmongManyChildren(t *testing.T) {
	h := hosttest.New(t, offlineHost())
	id := func(i int) sessions.SessionID { return sessions.SessionID(fmt.Sprintf("root-%d", i)) }
	makeMany(t, h, 50, func(i int) api.SessionCreateArgs {
		return api.SessionCreateArgs{Address: api.Address{SessionID: id(i)}}
	})
	makeMany(t, h, 1000, func(i int) api.SessionCreateArgs {
		return api.SessionCreateArgs{ParentID: id(i % 50), ParentLocation: sessions.Local}
	})
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) {
			call := caller{t, d.open(t, h)}
			list := func(args string) []sessions.Session {
				return hosttest.Result[api.SessionListResult](t, call.call(api.OpSessionList, json.RawMessage(args))).Sessions
			}
			roots := list(`{"parentId":null,"limit":50}`)
			require.Len(t, roots, 50)
			for _, s := range roots {
				require.Empty(t, s.ParentID)
			}
			require.Len(t, list(`{"parentId":"root-7","limit":50}`), 20)
			require.Len(t, hosttest.Result[api.ChildrenResult](t, call.call(api.OpChildren, json.RawMessage(`{"sessionId":"root-7"}`))).Refs, 20)
		})
	}
}
