package host

import (
	"context"

	"agenthost/host/api"
)

// Purge removes the last bytes of what was deleted from the store's files, of
// all owners. What writes meanwhile waits. An end of ctx ends the wait only.
func (a *Access) Purge(ctx context.Context, args *api.PurgeArgs) (*api.PurgeResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	done, err := a.host.store.Compact(ctx, args.DryRun)
	if err != nil {
		return nil, err
	}
	return &api.PurgeResult{Compaction: done}, nil
}
