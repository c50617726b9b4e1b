package sqlite

import (
	"context"

	"agenthost/sessions"
)

// AnswerCall stores a client's answer to a call; see the port.
func (s *Store) AnswerCall(context.Context, sessions.AnswerCall) (sessions.AnsweredCall, error) {
	return sessions.AnsweredCall{}, sessions.Errorf(sessions.CodeNotSupported, "This store keeps no waiting calls.")
}

// WaitedCalls returns what a step waits for; see the port.
func (s *Store) WaitedCalls(context.Context, sessions.Incarnation, sessions.TurnID) (sessions.WaitedCalls, error) {
	return sessions.WaitedCalls{}, sessions.Errorf(sessions.CodeNotSupported, "This store keeps no waiting calls.")
}
