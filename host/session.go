package host

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"agenthost/actors"
	"agenthost/host/api"
	"agenthost/sessions"
)

// newSessionID returns the id of a session that a client gives none: a UUIDv7.
func newSessionID() sessions.SessionID {
	return sessions.SessionID(uuid.Must(uuid.NewV7()).String())
}

// request returns the claim on a request id, nil when there is none.
func (a *Access) request(id sessions.RequestID, fingerprint [32]byte) *sessions.Request {
	if id == "" {
		return nil
	}
	return &sessions.Request{ID: a.faced(id), Fingerprint: fingerprint, TTLMs: a.host.system.DedupTTL().Milliseconds()}
}

// SessionCreate makes a session, or finds the one there is.
func (a *Access) SessionCreate(ctx context.Context, args *api.SessionCreateArgs) (*api.SessionCreateResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	if err := a.knownProfile(args.Profile()); err != nil {
		return nil, err
	}
	made, err := a.host.store.CreateSession(ctx, sessions.CreateSession{
		Owner: a.owner(args.Owner), At: args.At(), NewID: newSessionID(), Profile: args.Profile(),
		Title: args.Title, Labels: args.Labels, ParentID: args.ParentID, ParentLocation: args.ParentLocation,
		Request: a.request(args.RequestID, args.Fingerprint()), Now: a.now(),
	})
	if err != nil {
		return nil, err
	}
	if made.Created {
		a.tell(sessions.SessionCreated, made.Session)
	}
	return &api.SessionCreateResult{Session: a.shown(made.Session), Created: made.Created}, nil
}

// SessionGet returns one session.
func (a *Access) SessionGet(ctx context.Context, args *api.SessionGetArgs) (*api.SessionGetResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	s, err := a.find(ctx, args.Address)
	if err != nil {
		return nil, err
	}
	return &api.SessionGetResult{Session: s}, nil
}

// SessionList returns a page of sessions, newest activity first.
func (a *Access) SessionList(ctx context.Context, args *api.SessionListArgs) (*api.SessionListResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	page, err := a.host.store.Sessions(ctx, sessions.SessionQuery{
		Owner: a.owner(args.Owner), TargetKey: args.TargetKey, Profile: args.ProfileKey,
		Statuses: args.Status, Parent: args.Parent(), Agent: args.AgentID, Labels: args.Label,
		Limit: args.PageLimit(), Cursor: args.Cursor, ByID: args.ByID, Ascending: args.Ascending,
	})
	if err != nil {
		return nil, err
	}
	result := &api.SessionListResult{Sessions: make([]sessions.Session, len(page.Sessions)), NextCursor: page.NextCursor}
	for i, s := range page.Sessions {
		result.Sessions[i] = a.shown(s)
	}
	return result, nil
}

// SessionUpdate changes a session's title and labels, whatever it is doing.
func (a *Access) SessionUpdate(ctx context.Context, args *api.SessionUpdateArgs) (*api.SessionUpdateResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	s, err := a.host.store.UpdateSession(ctx, sessions.UpdateSession{
		Owner: a.owner(args.Owner), At: args.At(), Title: args.Title, Labels: args.Labels, Now: a.now(),
	})
	if err != nil {
		return nil, err
	}
	a.tell(sessions.SessionUpdated, s)
	return &api.SessionUpdateResult{Session: a.shown(s)}, nil
}

// SessionClose closes a session, cancelling its turn.
func (a *Access) SessionClose(ctx context.Context, args *api.SessionCloseArgs) (*api.SessionCloseResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	s, err := a.host.system.Close(ctx, actors.Close{Owner: a.owner(args.Owner), At: args.At(), Reason: args.Reason})
	if err != nil {
		return nil, err
	}
	return &api.SessionCloseResult{Session: a.shown(s)}, nil
}

// SessionDetach ends a session's turn as interrupted and leaves it idle.
func (a *Access) SessionDetach(ctx context.Context, args *api.SessionDetachArgs) (*api.SessionDetachResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	s, err := a.host.system.Detach(ctx, actors.Detach{Owner: a.owner(args.Owner), At: args.At()})
	if err != nil {
		return nil, err
	}
	return &api.SessionDetachResult{Session: a.shown(s)}, nil
}

// SessionDelete removes a session with everything of it, and by default what is
// below it. Its answer comes when
// all is done, or after the grace period with Teardown pending.
func (a *Access) SessionDelete(ctx context.Context, args *api.SessionDeleteArgs) (*api.SessionDeleteResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	done, err := a.host.system.Delete(ctx, actors.Delete{
		Owner: a.owner(args.Owner), At: args.At(), Children: args.Children, RejectIfBusy: args.IfBusy == api.IfBusyReject,
		OnlySettled: args.OnlySettled,
		// 0 would mean the default to the actors; here it means not to wait.
		Grace: max(time.Duration(args.GraceMs())*time.Millisecond, time.Nanosecond),
	})
	if err != nil {
		return nil, err
	}
	return &api.SessionDeleteResult{Deleted: done.Receipt != nil, Receipt: done.Receipt, Teardown: teardown(done)}, nil
}

// SessionClearAll does so with every session of the caller's owner, or of every
// owner, one after the other. An error leaves the owners that were still to come.
func (a *Access) SessionClearAll(ctx context.Context, args *api.SessionClearAllArgs) (*api.SessionClearAllResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	owners := []sessions.Owner{a.caller.Owner}
	if args.AllOwners {
		all, err := a.host.store.Owners(ctx)
		if err != nil {
			return nil, err
		}
		// The caller's own is cleared even without sessions, as it is alone; so there
		// is a receipt in any case.
		owners = append(slices.DeleteFunc(all, func(o sessions.Owner) bool { return o == a.caller.Owner }), a.caller.Owner)
	}
	result := &api.SessionClearAllResult{Receipt: sessions.Receipt{Complete: true}}
	for _, owner := range owners {
		done, err := a.host.system.ClearAll(ctx, actors.ClearAll{Owner: owner})
		if err != nil {
			return nil, err
		}
		result.Receipt = result.Receipt.Plus(*done.Receipt)
		result.Teardown = cmp.Or(result.Teardown, teardown(done))
	}
	return result, nil
}

// tell lets those who follow the owner know of a change.
func (a *Access) tell(change sessions.SessionChange, s sessions.Session) {
	a.host.system.Feed().Tell(s.Owner, a.now(), sessions.SessionChanged{Change: change, SessionID: s.ID, Status: s.Status})
}

func teardown(r actors.DeleteReply) api.Teardown {
	if r.Pending {
		return api.TeardownPending
	}
	return ""
}

// SessionRelabel replaces a session's labels. Their bounds are the caller's affair.
func (a *Access) SessionRelabel(ctx context.Context, at api.Address, labels map[string]string) (sessions.Session, error) {
	if err := a.check(&api.SessionGetArgs{Address: at}); err != nil {
		return sessions.Session{}, err
	}
	s, err := a.host.store.UpdateSession(ctx, sessions.UpdateSession{Owner: a.owner(at.Owner), At: at.At(), Labels: labels, Now: a.now()})
	if err != nil {
		return sessions.Session{}, err
	}
	a.tell(sessions.SessionUpdated, s)
	return a.shown(s), nil
}
