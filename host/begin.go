package host

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"agenthost/host/api"
	"agenthost/sessions"
)

// NewSession is a session to be made under an id of the host's.
type NewSession struct {
	Profile     string
	Labels      map[string]string          // their bounds are the caller's affair
	State       map[string]json.RawMessage // named values that it begins with
	RequestID   sessions.RequestID         // "" when the request is never repeated
	Fingerprint [32]byte                   // digest of all that is asked
}

// SessionBegin makes a session that has no key, with state from its first moment
// on. A repeat of the request returns the session there is, and created is false.
func (a *Access) SessionBegin(ctx context.Context, n NewSession) (s sessions.Session, created bool, err error) {
	if err := a.check(&api.SessionCreateArgs{RequestID: n.RequestID}); err != nil {
		return s, false, err
	}
	if err := a.knownProfile(n.Profile); err != nil {
		return s, false, err
	}
	for _, name := range slices.Sorted(maps.Keys(n.State)) {
		if limit := a.host.config.Limits.StateBytes; int64(len(n.State[name])) > limit {
			return s, false, sessions.TooLarge("stateBytes", limit, "The session's settings have more than the limit of %d bytes.", limit)
		}
	}
	made, err := a.host.store.CreateSession(ctx, sessions.CreateSession{
		Owner: a.caller.Owner, NewID: newSessionID(), Profile: n.Profile, Labels: n.Labels, State: n.State,
		Request: a.request(n.RequestID, n.Fingerprint), Now: a.now(),
	})
	if err != nil {
		return s, false, err
	}
	if made.Created {
		a.tell(sessions.SessionCreated, made.Session)
	}
	return a.shown(made.Session), made.Created, nil
}

// SessionBegun returns the session that a request of SessionBegin has made before, so
// that a repeat need not ask for the same again. REQUEST_CONFLICT when the id was used
// for another request, SESSION_DELETED when the session is no more.
func (a *Access) SessionBegun(ctx context.Context, id sessions.RequestID, fingerprint [32]byte) (s sessions.Session, found bool, err error) {
	// A claim is looked for before the session that it is to be made on: this one is
	// nobody's, so that nothing is written.
	got, err := a.ClaimRequest(ctx, Claim{Address: api.Address{SessionID: newSessionID()}, RequestID: id, Fingerprint: fingerprint})
	if sessions.CodeOf(err) == sessions.CodeSessionNotFound {
		return s, false, nil
	}
	return a.shown(got.Session), err == nil, err
}

// SessionDeleted reports whether the caller had a session of this id that was
// deleted, for as long as that is remembered.
func (a *Access) SessionDeleted(ctx context.Context, id sessions.SessionID) (bool, error) {
	return a.host.store.Deleted(ctx, a.caller.Owner, id, a.now())
}
