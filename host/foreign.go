package host

import (
	"context"
	"reflect"

	"agenthost/host/api"
	"agenthost/sessions"
)

// noteForeign logs that a caller has asked for a session which there is and which
// is another owner's: it was answered as one that there is not. It looks for that
// whenever there is no such session, so that the time tells nothing. On a host
// without keys nobody has anything to find out.
func (a *Access) noteForeign(ctx context.Context, args, result any, err error) {
	if !a.host.DemandsKeys() || a.caller.Admin || !isMissing(result, err) {
		return
	}
	asked, ok := args.(interface{ At() sessions.Address })
	if !ok {
		return
	}
	at := asked.At()
	if made, ok := args.(*api.SessionCreateArgs); ok {
		at = sessions.Address{ID: made.ParentID}
	}
	if at == (sessions.Address{}) {
		return
	}
	a.logElsewhere(ctx, at, reflect.TypeOf(args).Elem().Name())
}

// NoteMissing does the same for a caller who was told by other words than those of
// an operation that there is no session of this id. asked names the request.
func (a *Access) NoteMissing(ctx context.Context, id sessions.SessionID, asked string) {
	if a.host.DemandsKeys() && !a.caller.Admin && sessions.CheckSessionID("", id) == nil {
		a.logElsewhere(ctx, sessions.Address{ID: id}, asked)
	}
}

func (a *Access) logElsewhere(ctx context.Context, at sessions.Address, asked string) {
	foreign, err := a.host.store.Elsewhere(ctx, a.caller.Owner, at)
	if err == nil && foreign {
		a.host.config.Logger.Warn("a session of another owner was asked for", "owner", a.caller.Owner, "key", a.caller.Key,
			"args", asked, "session", at.ID)
	}
}

// isMissing reports whether an answer says that there is no session.
func isMissing(result any, err error) bool {
	if deleted, ok := result.(*api.SessionDeleteResult); ok && err == nil {
		return !deleted.Deleted
	}
	code := sessions.CodeOf(err)
	return code == sessions.CodeSessionNotFound || code == sessions.CodeNotFound
}
