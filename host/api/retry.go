package api

import (
	"cmp"

	"agenthost/sessions"
)

// RetryArgs asks for another run of the session's last turn, which must have
// failed, been cancelled or been interrupted. It goes on from the turn's last
// committed step; the prompt is not appended again.
type RetryArgs struct {
	Address
	// TurnID names the turn; "" means whichever is the last.
	TurnID sessions.TurnID `json:"turnId,omitempty" strict:"nonempty"`
	// RequestID is the new turn's; "" lets the host make one.
	RequestID sessions.RequestID `json:"requestId,omitempty" strict:"nonempty"`
	Wait      Wait               `json:"wait,omitempty" strict:"nonempty"`
	Stream    bool               `json:"stream,omitempty"` // frames before the reply
}

// WaitFor returns the wait asked for, or its default.
func (a RetryArgs) WaitFor() Wait { return cmp.Or(a.Wait, WaitDone) }

// Validate checks the ids and the wait; see Args.
func (a RetryArgs) Validate(sessions.Limits) error {
	return cmp.Or(
		a.check(true),
		checkGiven("/args/turnId", a.TurnID, checkTurnID),
		checkGiven("/args/requestId", a.RequestID, sessions.CheckRequestID),
		checkWait(a.Wait),
	)
}

// Fingerprint digests the address and the turn.
func (a RetryArgs) Fingerprint() [32]byte {
	d := newDigest(OpRetry)
	d.address(a.Address)
	d.text(string(a.TurnID))
	return d.sum()
}

func checkWait(w Wait) error {
	return oneOf("/args/wait", w, WaitDone, WaitPending, WaitAccepted)
}

// checkTurnID refuses what cannot be a turn's id, which the host makes.
func checkTurnID(field string, id sessions.TurnID) error {
	return checkName(field, string(id))
}
