package host

import (
	"context"

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

// HostInfo describes the host.
func (a *Access) HostInfo(_ context.Context, args *api.HostInfoArgs) (*api.HostInfoResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	h := a.host
	about := h.store.Describe()
	resident, busy := h.system.Counts()
	info := &api.HostInfoResult{
		Version: h.config.Version, InstanceID: h.instance, StartedAt: h.started,
		Store: about.Name, Durability: about.Durability,
		ResidentSessions: resident, ActiveTurns: busy,
	}
	if h.retirer != nil {
		info.Retention = new(h.RetentionStats())
	}
	if p, ok := h.profiles[sessions.DefaultProfile]; ok {
		info.Oracle = p.Oracle.Name()
	}
	return info, nil
}
