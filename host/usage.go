package host

import (
	"context"
	"time"

	"agenthost/host/api"
	"agenthost/sessions"
)

// Usage sums up what was consumed by a session, by its tree on this host, or by all
// sessions that its owner has or had.
func (a *Access) Usage(ctx context.Context, args *api.UsageArgs) (*api.UsageResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	q := sessions.UsageQuery{By: args.Scope(), Owner: a.owner(args.Owner)}
	if q.By != sessions.UsageByOwner {
		s, err := a.find(ctx, args.Address)
		if err != nil {
			return nil, err
		}
		q.Life = s.Fence.Incarnation
	}
	sums, err := a.host.store.Usage(ctx, q)
	if err != nil {
		return nil, err
	}
	report := sessions.ReportUsage(sums)
	if q.By == sessions.UsageByOwner {
		report.Days = sessions.UsageDays(sums, a.now().Add(-(api.UsageDays-1)*24*time.Hour))
	}
	return &api.UsageResult{Usage: report}, nil
}

// AddUsage adds to the usage of a session and its owner what the program that
// embeds the host consumed for it, under a kind of its own and the name of what
// consumed it, "" for none. It is not idempotent. INVALID_REQUEST when the kind is
// no name or the host's own, CONFLICT when the session is deleted meanwhile.
func (a *Access) AddUsage(ctx context.Context, at api.Address, kind sessions.UsageKind, model string, u sessions.Usage) error {
	if err := a.check(&api.SessionGetArgs{Address: at}); err != nil {
		return err
	}
	c := sessions.AddUsage{Kind: kind, Model: model, Usage: u, Now: a.now()}
	if err := c.CheckForeign(); err != nil {
		return err
	}
	s, err := a.find(ctx, at)
	if err != nil {
		return err
	}
	c.Life = s.Fence.Incarnation
	return a.host.store.AddUsage(ctx, c)
}
