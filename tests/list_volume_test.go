//go:build !race

package tests

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/sessions"
)

// A client walks over all sessions while some of them change: none comes twice,
// and each that does not change comes once.
func TestCase46VolumeWalkOverTheWire(t *testing.T) {
	const many, changing = 100_000, 100
	h := hosttest.New(t, offlineHost())
	id := func(i int) sessions.SessionID { return sessions.SessionID(fmt.Sprintf("s-%06d", i)) }
	makeMany(t, h, many, func(i int) api.SessionCreateArgs {
		return api.SessionCreateArgs{Address: api.Address{SessionID: id(i)}}
	})

	// The changing ones are spoken to all the while, which moves them to the front.
	ctx, stop := context.WithCancel(t.Context())
	var talk sync.WaitGroup
	talk.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			at := api.Address{SessionID: id(n % changing * (many / changing))}
			if _, err := h.Prompt(ctx, &api.PromptArgs{Address: at, Text: "hi"}, nil); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	seen := map[sessions.SessionID]bool{}
	args := api.SessionListArgs{Limit: new(api.MaxPageLimit)}
	for more := true; more; {
		page, err := h.Client.SessionList(t.Context(), args)
		require.NoError(t, err)
		for _, s := range page.Sessions {
			require.False(t, seen[s.ID], "%s comes twice", s.ID)
			seen[s.ID] = true
		}
		args.Cursor = page.NextCursor
		more = args.Cursor != ""
	}
	stop()
	talk.Wait()
	for i := range many {
		if i%(many/changing) != 0 {
			require.True(t, seen[id(i)], "%s does not come", id(i))
		}
	}
}
