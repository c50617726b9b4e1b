package host

import (
	"cmp"
	"context"

	"agenthost/host/api"
	"agenthost/sessions"
)

// SessionFork copies a conversation, as far as it is stored, into a new session
// of the same profile. A turn under way goes on.
func (a *Access) SessionFork(ctx context.Context, args *api.SessionForkArgs) (*api.SessionForkResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	made, err := a.host.store.ForkSession(ctx, sessions.ForkSession{
		Owner: a.owner(args.Owner), At: args.At(), ThroughSeq: args.Through(),
		NewID: cmp.Or(args.NewSessionID, newSessionID()), NewTarget: args.NewTargetKey,
		Request: a.request(args.RequestID, args.Fingerprint()), Now: a.now(),
	})
	if err != nil {
		return nil, err
	}
	if !made.Duplicate {
		a.tell(sessions.SessionCreated, made.Session)
	}
	return &api.SessionForkResult{Session: a.shown(made.Session)}, nil
}
