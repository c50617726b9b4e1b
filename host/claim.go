package host

import (
	"context"

	"agenthost/host/api"
	"agenthost/sessions"
)

// faceEnd stands between a caller's face and its request id. No client of the
// host's own API can give an id that has it: those are ASCII.
const faceEnd = "→"

// faced returns the id under which the store knows a request id of the caller.
func (a *Access) faced(id sessions.RequestID) sessions.RequestID {
	if a.caller.Face == "" || id == "" {
		return id
	}
	return sessions.RequestID(a.caller.Face+faceEnd) + id
}

// Claim says which request of a session is safe to repeat.
type Claim struct {
	api.Address
	RequestID   sessions.RequestID
	Fingerprint [32]byte // digest of all that is asked
}

// ClaimRequest claims a request id for what is no prompt, and tells which turn was
// to run first then: a repeat is told the same one. REQUEST_CONFLICT,
// SESSION_DELETED and SESSION_NOT_FOUND as for a prompt.
func (a *Access) ClaimRequest(ctx context.Context, c Claim) (sessions.ClaimedRequest, error) {
	if err := a.check(&api.TurnArgs{Address: c.Address, RequestID: c.RequestID}); err != nil {
		return sessions.ClaimedRequest{}, err
	}
	return a.host.store.ClaimRequest(ctx, sessions.ClaimRequest{
		Owner: a.owner(c.Owner), At: c.At(), Request: *a.request(c.RequestID, c.Fingerprint), Now: a.now(),
	})
}

// Claimed returns the session that a request was made to or has made, and its turn:
// that of its prompt or its answers, or what ClaimRequest has told; "" for none. found
// is false when the request was not made, and then nothing is written. REQUEST_CONFLICT
// when the id was used for another request, SESSION_DELETED when the session is no more.
func (a *Access) Claimed(ctx context.Context, id sessions.RequestID, fingerprint [32]byte) (
	s sessions.Session, turn sessions.TurnID, found bool, err error) {
	// A claim is looked for before the session that it is to be made on: this one is
	// nobody's.
	got, err := a.ClaimRequest(ctx, Claim{Address: api.Address{SessionID: newSessionID()}, RequestID: id, Fingerprint: fingerprint})
	if sessions.CodeOf(err) == sessions.CodeSessionNotFound {
		return s, "", false, nil
	}
	return a.shown(got.Session), got.TurnID, err == nil, err
}
