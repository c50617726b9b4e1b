package host

import (
	"context"
	"os"

	"agenthost/host/api"
	"agenthost/sessions"
)

// Ping answers with the host's clock.
func (a *Access) Ping(_ context.Context, args *api.PingArgs) (*api.PingResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	return &api.PingResult{Time: a.now()}, nil
}

// HostInfo describes the host. To other than an admin it counts only what is of the
// caller's owner.
func (a *Access) HostInfo(ctx context.Context, args *api.HostInfoArgs) (*api.HostInfoResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	h := a.host
	about := h.store.Describe()
	resident, busy, err := a.counts(ctx)
	if err != nil {
		return nil, err
	}
	info := &api.HostInfoResult{
		Version: h.config.Version, InstanceID: h.instance, PID: os.Getpid(), StartedAt: h.started,
		Store: about.Name, Durability: about.Durability,
		ResidentSessions: resident, ActiveTurns: busy,
	}
	if h.retirer != nil && a.caller.Admin {
		info.Retention = new(h.RetentionStats())
	}
	if p, ok := h.profiles[sessions.DefaultProfile]; ok {
		info.Oracle = p.Oracle.Name()
	}
	return info, nil
}

// counts returns how many sessions are resident and how many turns busy of those
// that the caller may know of.
func (a *Access) counts(ctx context.Context) (resident, busy int64, err error) {
	if a.caller.Admin {
		resident, busy = a.host.system.Counts()
		return resident, busy, nil
	}
	turns, err := a.host.store.BusyTurns(ctx)
	for _, t := range turns {
		if t.Session.Owner == a.caller.Owner {
			busy++
		}
	}
	return a.host.system.ResidentOf(a.caller.Owner), busy, err
}
