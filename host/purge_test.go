package host_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/sessions"
)

// compacting counts what its store is asked for.
type compacting struct {
	sessions.Store
	dry, real int
}

func (c *compacting) Compact(ctx context.Context, dryRun bool) (sessions.Compaction, error) {
	if dryRun {
		c.dry++
	} else {
		c.real++
	}
	return c.Store.Compact(ctx, dryRun)
}

func TestPurgeIsForWhoHasTheWholeStore(t *testing.T) {
	var store *compacting
	h := hosttest.New(t, hosttest.Options{WrapStore: func(s sessions.Store) sessions.Store {
		store = &compacting{Store: s}
		return store
	}})
	_, err := h.As(api.Caller{Owner: "ann"}).Purge(t.Context(), &api.PurgeArgs{})
	require.Equal(t, sessions.CodeForbidden, sessions.CodeOf(err))
	require.Zero(t, store.dry+store.real)

	look, err := h.Purge(t.Context(), &api.PurgeArgs{DryRun: true})
	require.NoError(t, err)
	require.Equal(t, h.File, look.Files[0])
	require.Zero(t, store.real)
	done, err := h.As(api.Caller{Owner: "ann", Admin: true}).Purge(t.Context(), &api.PurgeArgs{})
	require.NoError(t, err)
	require.Equal(t, 1, store.real)
	require.Equal(t, look.Files, done.Files)
	require.Positive(t, done.BytesAfter)
}
