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

// RequestClaimed reports whether a request id of the caller is claimed already.
func (a *Access) RequestClaimed(ctx context.Context, id sessions.RequestID) (bool, error) {
	_, known, err := a.host.store.Claim(ctx, a.caller.Owner, a.faced(id), a.now())
	return known, err
}
