package sessions

import "encoding/json"

// Location says where a sub-session lives. It is set at creation and never
// changed or defaulted.
type Location string

// The two locations.
const (
	Local  Location = "local"
	Remote Location = "remote"
)

// Session is one conversation as clients see it.
type Session struct {
	ID             SessionID         `json:"id"`
	Owner          Owner             `json:"owner"`
	TargetKey      string            `json:"targetKey,omitempty"`
	ProfileKey     string            `json:"profileKey"`
	Status         Status            `json:"status"`
	Title          string            `json:"title"`
	Preview        string            `json:"preview"`
	Labels         map[string]string `json:"labels"` // never nil
	ParentID       SessionID         `json:"parentId,omitempty"`
	ParentLocation Location          `json:"parentLocation,omitempty"`
	ForkedFrom     SessionID         `json:"forkedFrom,omitempty"`
	AgentID        AgentID           `json:"agentId,omitempty"` // the saved agent it was made from, which may be no more; "" for none
	TurnCount      int64             `json:"turnCount"`         // turns that started and ended
	MessageCount   int64             `json:"messageCount"`
	Queued         int64             `json:"queued"` // turns waiting for their start
	CreatedAt      Time              `json:"createdAt"`
	LastActiveAt   Time              `json:"lastActiveAt"`
	ClosedAt       Time              `json:"closedAt,omitzero"`
	ClosedReason   string            `json:"closedReason,omitempty"`
	Resident       bool              `json:"resident"` // filled in by the host, not by stores
	ActiveTurn     *ActiveTurn       `json:"activeTurn,omitempty"`
	Pending        []Pending         `json:"pending"` // never nil
	Usage          Usage             `json:"usage"`
	LastError      *ErrorInfo        `json:"lastError,omitempty"`

	Fence     Fence `json:"-"`
	LastFrame int64 `json:"-"` // seq of the newest frame, 0 for none
}

// Key returns the session's key, zero if it has none.
func (s Session) Key() Key {
	if s.TargetKey == "" {
		return Key{}
	}
	return Key{Target: s.TargetKey, Profile: s.ProfileKey}
}

// Awaits returns the calls of a turn of the session that wait for clients, none
// when it does not wait or every call is answered.
func (s Session) Awaits(id TurnID) []Pending {
	if s.ActiveTurn == nil || s.ActiveTurn.TurnID != id {
		return nil
	}
	return s.Pending
}

// ActiveTurn is the turn of a session that is running or waiting.
type ActiveTurn struct {
	TurnID    TurnID     `json:"turnId"`
	RequestID RequestID  `json:"requestId"`
	Status    TurnStatus `json:"status"`
	StartedAt Time       `json:"startedAt"`
}

// PendingKind says what a waiting call waits for.
type PendingKind string

// The kinds of pending calls.
const (
	PendingApproval   PendingKind = "approval"
	PendingClientTool PendingKind = "clientTool"
)

// Pending is a call that waits for a client.
type Pending struct {
	CallID CallID          `json:"callId"`
	Kind   PendingKind     `json:"kind"`
	Path   string          `json:"path"`
	Args   json.RawMessage `json:"args"`
	Since  Time            `json:"since"`
}

// StateValue is one named blob of a session's state.
type StateValue struct {
	Value     json.RawMessage `json:"value"`
	Version   int64           `json:"version"` // from 1 in each life, plus one per commit
	UpdatedAt Time            `json:"updatedAt"`
}
