package api

import (
	"cmp"

	"agenthost/sessions"
)

// TurnArgs asks for one turn of a session, by its id or by a request id, whose
// latest turn is meant.
type TurnArgs struct {
	Address
	TurnID    sessions.TurnID    `json:"turnId,omitempty" strict:"nonempty"`
	RequestID sessions.RequestID `json:"requestId,omitempty" strict:"nonempty"`
	// Wait delays the answer as a prompt's does; "" answers at once.
	Wait Wait `json:"wait,omitempty" strict:"nonempty"`
}

// TurnResult is one turn.
type TurnResult struct {
	Turn    TurnWithAnswer     `json:"turn"`
	Pending []sessions.Pending `json:"pending,omitempty"` // what a waiting turn waits for
}

// TurnWithAnswer is a turn with the message that answered its prompt.
type TurnWithAnswer struct {
	sessions.Turn
	Message *sessions.Message `json:"message,omitempty"` // nil unless completed
}

// Validate checks that one turn is named; see Args.
func (a TurnArgs) Validate(sessions.Limits) error {
	if (a.TurnID == "") == (a.RequestID == "") {
		return sessions.InvalidField("/args/turnId", "A turn is named by its turnId or by a requestId, by exactly one of them.")
	}
	return cmp.Or(
		a.check(true),
		checkGiven("/args/turnId", a.TurnID, checkTurnID),
		checkGiven("/args/requestId", a.RequestID, sessions.CheckRequestID),
		checkWait(a.Wait),
	)
}
