package sessions

// Ref is a parent's record of a sub-session. Its Location alone decides what it
// is; the writer sets it, nobody changes it, and a ref without one is refused.
type Ref struct {
	SessionID  SessionID `json:"sessionId"`
	Location   Location  `json:"location"`
	ProfileKey string    `json:"profileKey"`
	Name       string    `json:"name,omitempty"`   // of a companion, "" for a child of one call
	CallID     CallID    `json:"callId,omitempty"` // the parent's call that made it, "" for none
	Status     RefStatus `json:"status"`
	Host       string    `json:"host,omitempty"` // of a remote child: the configured name of its host
	CreatedAt  Time      `json:"createdAt"`
	EndedAt    Time      `json:"endedAt,omitzero"`

	TurnID TurnID `json:"-"` // the turn of CallID
}

// RefStatus is what is known of a child. That of a local child is its session's
// Status, read with the ref; that of a remote one is what was heard last.
type RefStatus string

// The states of remote children, and that of a local ref without a session.
const (
	RefCreated RefStatus = "created" // recorded; it may not be made yet
	RefRunning RefStatus = "running"
	RefIdle    RefStatus = "idle"
	RefFailed  RefStatus = "failed"
	RefClosed  RefStatus = "closed"
	RefLost    RefStatus = "lost" // its host is gone, or does not know it any more
	RefGone    RefStatus = "gone" // a local ref that names no session
)

// Ended reports whether a child in this state takes no more work of its parent.
func (s RefStatus) Ended() bool {
	return s == RefFailed || s == RefClosed || s == RefLost || s == RefGone
}

// Valid reports whether the location is one of the two.
func (l Location) Valid() bool { return l == Local || l == Remote }

// Check returns INVALID_REQUEST about field unless the location is one of the two.
func (l Location) Check(field string) error {
	if !l.Valid() {
		return InvalidField(field, "A sub-session is %q or %q; the location is never guessed.", Local, Remote)
	}
	return nil
}
