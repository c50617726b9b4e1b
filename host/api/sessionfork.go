package api

import (
	"cmp"

	"agenthost/sessions"
)

// SessionForkArgs copies a conversation, as far as it is stored, into a new
// session of the same profile.
type SessionForkArgs struct {
	Address
	// ThroughSeq is the last message to copy, from 1; nil means all.
	ThroughSeq   *int64             `json:"throughSeq,omitempty"`
	NewSessionID sessions.SessionID `json:"newSessionId,omitempty" strict:"nonempty"` // "" lets the host make one
	NewTargetKey string             `json:"newTargetKey,omitempty" strict:"nonempty"` // "" leaves the new session without a key
	RequestID    sessions.RequestID `json:"requestId,omitempty" strict:"nonempty"`
}

// SessionForkResult is the new session.
type SessionForkResult struct {
	Session sessions.Session `json:"session"`
}

// Through returns the last message to copy, 0 for all.
func (a SessionForkArgs) Through() int64 { return orDefault(a.ThroughSeq, 0) }

// Validate checks the address and what the new session is to be; see Args.
func (a SessionForkArgs) Validate(sessions.Limits) error {
	return cmp.Or(
		a.check(true),
		checkAtLeast("/args/throughSeq", "throughSeq", a.ThroughSeq, 1),
		checkGiven("/args/newSessionId", a.NewSessionID, sessions.CheckSessionID),
		checkGiven("/args/newTargetKey", a.NewTargetKey, sessions.CheckKeyPart),
		checkGiven("/args/requestId", a.RequestID, sessions.CheckRequestID),
	)
}

// Fingerprint digests everything but the request id.
func (a SessionForkArgs) Fingerprint() [32]byte {
	d := newDigest(OpSessionFork)
	d.address(a.Address)
	d.count(int(a.Through()))
	d.text(string(a.NewSessionID))
	d.text(a.NewTargetKey)
	return d.sum()
}
